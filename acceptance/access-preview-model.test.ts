import { test } from 'bun:test';
import { previewOfAppTable } from './suites/access-preview-model.ts';

test('a preview of a table of an app shows what the rows show', () => previewOfAppTable({ ruleSets: 3 }));
