import { preview } from './suites/preview.ts';

preview({ nth: 12 });
