import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { newFolder, removeFolders } from '../testing/run-svc.ts';
import {
  type Config,
  configDir,
  configFile,
  isLoopback,
  parseBaseUrl,
  profileName,
  readProfiles,
  sameServer,
} from './profile.ts';

afterAll(removeFolders);

describe('the folder of the files', () => {
  test.each([
    [{ SVC_CONFIG_DIR: '/a/b/', XDG_CONFIG_HOME: '/x', HOME: '/h' }, '/a/b'],
    [{ XDG_CONFIG_HOME: '/x', HOME: '/h' }, '/x/svc'],
    [{ HOME: '/h' }, '/h/.config/svc'],
    [{ SVC_CONFIG_DIR: '', HOME: '/h' }, '/h/.config/svc'],
  ])('%j → %s', (env, dir) => {
    expect(configDir(env)).toBe(dir);
  });

  test('is asked for where there is no home', () => {
    expect(() => configDir({})).toThrow('SVC_CONFIG_DIR');
  });
});

describe('reading', () => {
  test('files that are absent or empty are empty', async () => {
    const dir = newFolder();
    expect(await readProfiles<Config>(dir, configFile)).toEqual({ profiles: {} });
    expect(await readProfiles<Config>(join(dir, 'not/there'), configFile)).toEqual({ profiles: {} });
    await Bun.write(join(dir, configFile), '');
    expect(await readProfiles<Config>(dir, configFile)).toEqual({ profiles: {} });
  });

  test.each(['{', '[]', 'null', '"x"', '\u0000'])('%j is refused, with the path', async (text) => {
    const dir = newFolder();
    await Bun.write(join(dir, configFile), text);
    const error = await readProfiles<Config>(dir, configFile).catch((cause) => cause);
    expect(error).toMatchObject({ code: 'config_unreadable' });
    expect(error.message).toContain(dir);
  });

  test('what it does not know is kept', async () => {
    const dir = newFolder();
    await Bun.write(join(dir, configFile), '{"later":1,"profiles":{"a":{"base_url":"http://x"}}}');
    expect(await readProfiles<Config>(dir, configFile)).toMatchObject({ later: 1, profiles: { a: {} } });
  });
});

test('a profile is named by the flag, the file, or default; names are plain', () => {
  expect(profileName('a', { current_profile: 'b', profiles: {} })).toBe('a');
  expect(profileName(undefined, { current_profile: 'b', profiles: {} })).toBe('b');
  expect(profileName(undefined, { profiles: {} })).toBe('default');
  for (const name of ['', '../x', '__proto__', 'a b', '.', 'x'.repeat(64)]) {
    expect(() => profileName(name, { profiles: {} })).toThrow();
  }
});

describe('addresses', () => {
  test('lose their trailing slash, keep a path, and hold no password', () => {
    expect(parseBaseUrl('http://localhost:4400/', 'it')).toBe('http://localhost:4400');
    expect(parseBaseUrl('https://example.com/svc//', 'it')).toBe('https://example.com/svc');
    for (const text of ['localhost:4400', 'ftp://x', '', 'http://', 'http://me:secret@x']) {
      expect(() => parseBaseUrl(text, 'it')).toThrow('it must');
    }
  });

  test('of this machine count as one, others only when they are equal', () => {
    expect(sameServer('http://localhost:1', 'http://127.0.0.1:1/oauth')).toBe(true);
    expect(sameServer('http://[::1]:1', 'http://localhost:1')).toBe(true);
    expect(sameServer('http://localhost:1', 'http://localhost:2')).toBe(false);
    expect(sameServer('http://localhost:1', 'https://localhost:1')).toBe(false);
    expect(sameServer('http://a.example', 'http://b.example')).toBe(false);
    expect(sameServer('http://127.0.0.1.example.com', 'http://localhost')).toBe(false);
    expect(isLoopback('localhost.example.com')).toBe(false);
  });
});
