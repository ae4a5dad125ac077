import type { Manifest } from '@svc/contract/manifest.shapes.ts';
import { manifestSchemaPath } from '@svc/contract/manifest.ts';
import { stringify } from 'yaml';
import type { Detected } from './detect.ts';

/** The text of a new `svc.yaml`: each key with what it is for and why it has its value. */
export function renderManifest({ manifest, evidence }: Detected, { baseUrl }: { baseUrl: string }): string {
  const why = new Map(evidence.map(({ key, because }) => [key, because]));
  const about = (key: string, text: string) => `# ${text}${why.has(key) ? ` (${why.get(key)})` : ''}.`;
  const { name, tenant, app, deploy, build, start, health } = manifest;
  const blocks = [
    [
      `# yaml-language-server: $schema=${baseUrl}${manifestSchemaPath}`,
      '# What svc knows about this app. Commands in this folder and below take the app and the tenant from here.',
    ],
    [about('name', 'Its name as people read it'), entry('name', name ?? '')],
    [
      about('tenant', 'The tenant it belongs to; without it, your active tenant counts'),
      tenant === undefined ? '# tenant: my-tenant' : entry('tenant', tenant),
    ],
    app?.slug === undefined
      ? [
          '# Its name in addresses and commands; none can be made from the name.',
          '# app:',
          '#   slug: my-app',
        ]
      : [
          'app:',
          `  ${about('app.slug', 'Its name in addresses and commands')}`,
          `  ${entry('slug', app.slug)}`,
        ],
    [
      'deploy:',
      '  # docker builds an image, compose runs a compose file, static serves files; it can not change later',
      `  ${about('deploy.method', 'once the app is created')}`,
      `  ${entry('method', deploy?.method ?? 'docker')}`,
      ...(deploy?.dockerfile === undefined ? [] : [`  ${entry('dockerfile', deploy.dockerfile)}`]),
      ...(deploy?.compose_file === undefined ? [] : [`  ${entry('compose_file', deploy.compose_file)}`]),
    ],
    ...commandBlock('build', build, about('build', 'What makes it ready to run or to serve')),
    ...commandBlock('start', start, about('start', 'What runs it; it listens on $PORT')),
    ...commandBlock('health', health, about('health', 'The path that answers 2xx when it is ready')),
    ...staticBlock(manifest, about('static.dir', 'The folder with the files to serve')),
    ['# Files that the app keeps: an object storage of its own.', '# storage:', '#   enabled: true'],
    [
      '# Variables for the app. Nothing secret: this file is kept with the code.',
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

/** On one line, quoted where it must be. What breaks a line is escaped as JSON does, which YAML reads too. */
function entry(key: string, value: unknown): string {
  const isPlain = typeof value === 'string' && !/[\p{Cc}\u2028\u2029]/u.test(value);
  return `${key}: ${isPlain ? stringify(value, { lineWidth: 0 }).trimEnd() : JSON.stringify(value)}`;
}
