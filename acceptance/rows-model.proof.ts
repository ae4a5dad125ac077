import { rowsModel } from './suites/rows-model.ts';

rowsModel({ queriesCount: 5_000 });
