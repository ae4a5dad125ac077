import { tableRulesModel } from './suites/table-rules-model.ts';

tableRulesModel({ ruleSets: 4, requestsPerSet: 40 });
