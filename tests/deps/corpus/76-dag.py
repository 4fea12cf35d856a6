# needs: apache-airflow apache-airflow-providers-postgres apache-airflow-providers-cncf-kubernetes
from airflow import DAG
from airflow.operators.python import PythonOperator
from airflow.decorators import dag, task
from airflow.providers.postgres.hooks.postgres import PostgresHook
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
