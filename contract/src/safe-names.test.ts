import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { z } from 'zod';
import { contract } from './all.ts';
import { cleanName, isSafeName, safeNameExpected } from './safe-names.ts';
import { displayName } from './shapes.ts';

/** Each class of characters that a name must not contain, by its first and last code point. */
const ranges = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0x061c, 0x061c],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x2064],
  [0x2066, 0x2069],
  [0xfeff, 0xfeff],
] as const;
const unsafe = fc
  .oneof(...ranges.map(([min, max]) => fc.integer({ min, max })))
  .map((code) => String.fromCodePoint(code));
const visible = fc.stringMatching(/^[\p{L}\p{N}\p{P}\p{S} ]*$/u);

test('a name with a control, invisible or text-direction character anywhere is not safe', () => {
  fc.assert(
    fc.property(visible, unsafe, visible, (before, char, after) => !isSafeName(before + char + after)),
  );
  for (const [min, max] of ranges)
    for (let code = min; code <= max; code++)
      expect([code, isSafeName(`a${String.fromCodePoint(code)}b`)]).toEqual([code, false]);
});

test('names in any script are safe, with accents, emoji and spaces', () => {
  fc.assert(fc.property(visible, isSafeName));
  for (const name of ['Pet shop', 'Zoë’s café', 'חנות', 'متجر', '商店', 'दुकान', 'Shop ❤️ 🎉', 'e\u0301'])
    expect([name, isSafeName(name)]).toEqual([name, true]);
});

test('a cleaned name is safe and not longer than allowed, and a safe name stays as it is', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), unsafe, fc.nat(50), (text, char, max) => {
      const cleaned = cleanName(`${text}${char}${text}`, max);
      expect([isSafeName(cleaned), cleaned.isWellFormed(), [...cleaned].length <= max]).toEqual([
        true,
        true,
        true,
      ]);
    }),
  );
  fc.assert(fc.property(visible, (name) => cleanName(name, 1_000) === name.trim()));
  expect(cleanName('Ada\u202e\n\u200bLovelace\u0007 ', 200)).toBe('Ada Lovelace');
});

test('every endpoint that takes a name refuses such characters, and the error names the field', () => {
  const nameFields = ['name', 'display_name', 'cost_center', 'version', 'data_scopes'];
  const tested: string[] = [];
  for (const { endpoint, shape } of contract) {
    const { body } = shape;
    if (!(body instanceof z.ZodObject)) continue;
    for (const field of nameFields.filter((it) => it in body.shape)) {
      for (const name of ['a\u202eb', 'a\u200bb', 'a\u001bb', 'a\u2028b', 'a\u061cb']) {
        const value = field === 'data_scopes' ? [name] : name;
        const issues = body.safeParse({ [field]: value }).error?.issues ?? [];
        const messages = issues.filter(({ path }) => path[0] === field).map(({ message }) => message);
        // Names of tables, columns, presets and variables have patterns of their own, which are narrower.
        const isNarrower = messages.some((message) => /^must (?:be|have|begin)/.test(message));
        expect([endpoint.id, field, isNarrower || messages.includes(safeNameExpected)]).toEqual([
          endpoint.id,
          field,
          true,
        ]);
        if (!isNarrower) tested.push(`${endpoint.id} ${field}`);
      }
    }
  }
  expect([...new Set(tested)].sort()).toEqual([
    'apps.create cost_center',
    'apps.create data_scopes',
    'apps.create name',
    'apps.fork name',
    'apps.update cost_center',
    'apps.update data_scopes',
    'apps.update name',
    'bootstraps.start name',
    'categories.create name',
    'categories.update name',
    'connectors.create name',
    'connectors.update name',
    'factors.addPasskey name',
    'factors.addTotp name',
    'factors.rename name',
    'groups.create display_name',
    'groups.update display_name',
    'pats.create name',
    'policies.create name',
    'policies.replace name',
    'policies.update name',
    'releases.create version',
    'serviceTokens.create name',
    'templates.create name',
    'tenants.update name',
  ]);
});

test('a name has at least one visible character', () => {
  const name = displayName(1, 80);
  for (const invisible of ['\u3164', '\u115f', '\uffa0', '\u2800', '\u034f', '\ufe0f', '\u00a0 ', '\u180e'])
    expect([invisible, name.safeParse(invisible).success]).toEqual([invisible, false]);
  for (const text of ['❤️', 'नमस्ते', 'a\u2800', '·'])
    expect([text, name.safeParse(text).success]).toEqual([text, true]);
});
