import { expect, test } from 'bun:test';
import { compilePattern } from '@svc/contract/patterns.ts';
import { sql } from 'kysely';
import { useTestDatabase } from '../../testing.ts';

const database = useTestDatabase();

const patterns = [
  'a',
  '^a',
  'a$',
  '^a|b$',
  '^.$',
  '.',
  '^[^a-c]$',
  '[^]',
  '[]',
  '^(ab|c){1,3}$',
  '^(|a)b$',
  '^$',
  '^a{2,}$',
  '^\\d+\\.\\d{2}$',
  '^\\w+$',
  '\\W',
  '^\\s*$',
  '\\S',
  '^[\\d-]+$',
  '^[a-é]+$',
  '😀',
  '^[😀-😂]$',
  '^\\u00e4$',
  '^(a*)*$',
  '^(a|aa)+b?$',
  '^[A-Z]{2}(-[A-Z]{2})?$',
  '^[\'"\\\\]+$',
  '^[^\\n]*$',
  '^(?:a?){20}$',
  '[.^$*+?]',
];
const texts = [
  '',
  'a',
  'b',
  'c',
  'ab',
  'abc',
  'cab',
  'aa',
  'aab',
  'A',
  'é',
  'ä',
  'e\u0301',
  '😀',
  '😁',
  '😀😀',
  '1.50',
  '1,5',
  '\n',
  'a\n',
  '\r',
  '\u2028',
  '\u00a0',
  '\ufeff',
  ' \t',
  'DE-AT',
  "'",
  '"',
  '\\',
  '١',
  'a-b',
  '^',
  '$',
  '-',
  '_',
  '\u0001',
  '\u007f',
  '\ud7ff',
  '\uffff',
  '\u{10ffff}',
  'a'.repeat(300),
];

test('a pattern matches the same texts in PostgreSQL as here', async () => {
  for (const source of patterns) {
    const compiled = compilePattern(source);
    if (!compiled.ok) throw new Error(`${source}: ${compiled.detail}`);
    const { pattern } = compiled;
    expect(pattern.sql).toMatch(/^[\x20-\x26\x28-\x7e]*$/);
    const { rows } = await sql<{ text: string }>`
      select text from unnest(${texts}::text[]) text where text collate "C" ~ ${pattern.sql}`.execute(
      database.db,
    );
    const found = rows.map(({ text }) => text);
    expect([source, found]).toEqual([source, texts.filter((text) => pattern.test(text))]);
  }
});
