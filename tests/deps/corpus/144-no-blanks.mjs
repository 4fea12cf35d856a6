// needs: rxjs
import { map } from 'rxjs/operators'; import{of}from'rxjs';
