// needs: react
import type React0 from 'react-types';
import { type D, useState } from 'react';
import { APIGatewayProxyEvent } from 'aws-lambda';
