import { requiredPrograms } from './required-programs.ts';

requiredPrograms();
