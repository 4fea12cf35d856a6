sqlite3 a.db "create table t(a, b); insert into t select value, random() from json_each('[1,2,3,4]');
select * from t; select datetime('now'), julianday('now'); create index i on t(b); vacuum;"
sqlite3 -csv a.db 'select a, b from t order by b' >t.csv && cat t.csv
