// needs: react react-dom @tanstack/react-query zod
import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { useQuery } from '@tanstack/react-query';
import type { Foo } from 'type-only';
import { type Bar } from 'zod';
const A = () => <div>don't import x from 'y' {"a"} <b/></div>;
export default A;
