import { embedsModel } from './suites/embeds-model.ts';

embedsModel({ queries: 5_000 });
