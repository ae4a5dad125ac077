import { embedsModel } from './suites/embeds-model.ts';

embedsModel({ worlds: 4, queries: 6_000, asks: ['page', 'page', 'row'] });
