import { rowsRevocation } from './suites/rows-revocation.ts';

rowsRevocation({ clientsCount: 30 });
