import { embedsModel } from './suites/embeds-model.ts';

embedsModel({ worlds: 6, queries: 7_000, asks: ['groups', 'groups', 'groups', 'distinct'] });
