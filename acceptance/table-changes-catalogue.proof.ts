import { failedCommits } from './suites/table-changes.ts';

failedCommits('catalogue');
