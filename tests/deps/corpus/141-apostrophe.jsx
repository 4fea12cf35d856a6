// needs: react
export default function A() { return <p>It's a "test" {/* require('x') */} don't</p>; }
import { useEffect } from 'react';
