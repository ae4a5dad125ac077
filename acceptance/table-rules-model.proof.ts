import { tableRulesModel } from './suites/table-rules-model.ts';

tableRulesModel({ ruleSets: 40, requestsPerSet: 500 });
