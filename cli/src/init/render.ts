import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import { manifestSchemaPath } from '@svc/contract/manifest.ts';
import { stringify } from 'yaml';
import type { Detected } from './detect.ts';

export function renderManifest({ manifest, evidence }: Detected, { baseUrl }: { baseUrl: string }): string {
  const why = new Map(evidence.map(({ key, because }) => [key, because]));
  const about = (key: string, text: string) => `# ${text}${why.has(key) ? ` (${why.get(key)})` : ''}.`;
  const { name, tenant, app, deploy, build, release, start, health } = manifest;
  const blocks = [
    [
      `# yaml-language-server: $schema=${baseUrl}${manifestSchemaPath}`,
      '# Settings of this app for svc. Commands in this folder and below use its app and tenant.',
    ],
    [about('name', 'Display name'), entry('name', name ?? '')],
    [
      about('tenant', 'Tenant; your active tenant if absent'),
      tenant === undefined ? '# tenant: my-tenant' : entry('tenant', tenant),
    ],
    app?.slug === undefined
      ? [
          '# Short name for URLs and commands; none can be derived from the name.',
          '# app:',
          '#   slug: my-app',
        ]
      : [
          'app:',
          `  ${about('app.slug', 'Short name for URLs and commands')}`,
          `  ${entry('slug', app.slug)}`,
        ],
    [
      'deploy:',
      '  # docker builds an image, compose runs a compose file, static serves files; cannot change',
      `  ${about('deploy.method', 'after the app is created')}`,
      `  ${entry('method', deploy?.method ?? 'docker')}`,
      ...(deploy?.dockerfile === undefined ? [] : [`  ${entry('dockerfile', deploy.dockerfile)}`]),
      ...(deploy?.compose_file === undefined ? [] : [`  ${entry('compose_file', deploy.compose_file)}`]),
    ],
    ...commandBlock('build', build, about('build', 'Build command')),
    ...commandBlock('release', release, about('release', 'Runs before a new version goes live')),
    ...commandBlock('start', start, about('start', 'Start command; the app listens on $PORT')),
    ...commandBlock('health', health, about('health', 'Path that returns 2xx when the app is ready')),
    ...staticBlock(manifest, about('static.dir', 'Folder with the files to serve')),
    ['# Object storage of the app.', '# storage:', '#   enabled: true'],
    [
      '# Environment variables. No secrets: this file is stored with the code.',
      '# env:',
      '#   LOG_LEVEL: info',
    ],
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function commandBlock(
  key: string,
  value: Manifest['build'] | Manifest['health'],
  comment: string,
): string[][] {
  return value === undefined ? [] : [[comment, entry(key, value)]];
}

function staticBlock({ static: files }: Manifest, comment: string): string[][] {
  return files?.dir === undefined ? [] : [['static:', `  ${comment}`, `  ${entry('dir', files.dir)}`]];
}

function entry(key: string, value: unknown): string {
  const isPlain = typeof value === 'string' && !/[\p{Cc}\u2028\u2029]/u.test(value);
  return `${key}: ${isPlain ? stringify(value, { lineWidth: 0 }).trimEnd() : JSON.stringify(value)}`;
}
