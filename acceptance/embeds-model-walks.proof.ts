import { embedsModel } from './suites/embeds-model.ts';

embedsModel({ worlds: 4, queries: 2_000, asks: ['walk'] });
