import { embedsModel } from './suites/embeds-model.ts';

embedsModel({ worlds: 4, queries: 2_500, asks: ['walk'] });
