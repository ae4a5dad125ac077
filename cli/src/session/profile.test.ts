import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { newFolder, removeFolders } from '../../testing/run-svc.ts';
import {
  type Config,
  configDir,
  configFile,
  isLoopback,
  isSameServer,
  parseBaseUrl,
  profileName,
  readProfiles,
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

  test('is required if there is no home folder', () => {
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

  test.each(['{', '[]', 'null', '"x"', '\u0000'])('%j is rejected, with the path', async (text) => {
    const dir = newFolder();
    await Bun.write(join(dir, configFile), text);
    const error = await readProfiles<Config>(dir, configFile).catch((cause) => cause);
    expect(error).toMatchObject({ code: 'config_unreadable' });
    expect(error.message).toContain(dir);
  });

  test('unknown fields are kept', async () => {
    const dir = newFolder();
    await Bun.write(join(dir, configFile), '{"later":1,"profiles":{"a":{"base_url":"http://x"}}}');
    expect(await readProfiles<Config>(dir, configFile)).toMatchObject({ later: 1, profiles: { a: {} } });
  });
});

test('the profile comes from the flag, the file, or is default; its name is checked', () => {
  expect(profileName('a', { current_profile: 'b', profiles: {} })).toBe('a');
  expect(profileName(undefined, { current_profile: 'b', profiles: {} })).toBe('b');
  expect(profileName(undefined, { profiles: {} })).toBe('default');
  for (const name of ['', '../x', '__proto__', 'a b', '.', 'x'.repeat(64)]) {
    expect(() => profileName(name, { profiles: {} })).toThrow();
  }
});

describe('addresses', () => {
  test('lose a trailing slash, keep a path, and contain no password', () => {
    expect(parseBaseUrl('http://localhost:4400/', 'it')).toBe('http://localhost:4400');
    expect(parseBaseUrl('https://example.com/svc//', 'it')).toBe('https://example.com/svc');
    for (const text of ['localhost:4400', 'ftp://x', '', 'http://', 'http://me:secret@x']) {
      expect(() => parseBaseUrl(text, 'it')).toThrow('it must');
    }
  });

  test('of this machine are the same server, others only if they are equal', () => {
    expect(isSameServer('http://localhost:1', 'http://127.0.0.1:1/oauth')).toBe(true);
    expect(isSameServer('http://[::1]:1', 'http://localhost:1')).toBe(true);
    expect(isSameServer('http://localhost:1', 'http://localhost:2')).toBe(false);
    expect(isSameServer('http://localhost:1', 'https://localhost:1')).toBe(false);
    expect(isSameServer('http://a.example', 'http://b.example')).toBe(false);
    expect(isSameServer('http://127.0.0.1.example.com', 'http://localhost')).toBe(false);
    expect(isLoopback('localhost.example.com')).toBe(false);
  });
});
