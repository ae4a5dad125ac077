import { z } from 'zod';
import { createApp } from './apps.shapes.ts';
import { deployMethods } from './apps.ts';
import { issueText } from './issue-text.ts';
import {
  durationMs,
  firstByteMinutesMax,
  healthTimeoutMinutesMax,
  manifestDurationPattern,
  manifestEnvNamePattern,
  manifestSchemaPath,
  manifestUrlPathPattern,
} from './manifest.ts';
import type { ManifestDocument } from './manifest-document.ts';
import { ManifestFaults } from './manifest-faults.ts';
import { ref, text } from './shapes.ts';
import { draft7Schema, folderPath as path, SiteConfig, says } from './site-config.shapes.ts';

const command = text.min(1).max(2_000);
const step = z.union([command, z.literal(false)], { error: 'must be a command or false' });
const urlPath = z.string().regex(manifestUrlPathPattern, 'must be the path of an address, such as /healthz');
const durationOf = (minutesMax: number) =>
  z
    .string()
    .regex(manifestDurationPattern, 'must be a duration such as 500ms, 5s or 1m')
    .refine((text) => durationMs(text) <= minutesMax * 60_000, `must be at most ${minutesMax}m`);
const fields = createApp.body.shape;

const app = z.strictObject({
  slug: fields.slug.meta(says('The name of the app in URLs and commands; derived from `name` when absent.')),
  subdomain: fields.subdomain.meta(says('The subdomain of the app; null for none.')),
  summary: fields.summary.meta(says('One line for lists; empty for none.')),
  description: fields.description.meta(says('What the app is for; empty for none.')),
  category: fields.category.meta(says('The category of the app: a slug or an id.')),
  auth_mode: fields.auth_mode.meta(says('How the app authenticates its callers.')),
  data_scopes: fields.data_scopes.meta(says('The data scopes that the app requests.')),
  resource_preset: fields.resource_preset.meta(says('The resource tier; the tenant may limit it.')),
  icon_url: fields.icon_url.meta(says('Icon for light backgrounds.')),
  icon_dark_url: fields.icon_dark_url.meta(says('Icon for dark backgrounds.')),
});

const deploy = z.strictObject({
  method: z
    .enum(deployMethods)
    .optional()
    .meta(
      says(
        '`docker` builds an image, `compose` runs a compose file, `static` serves files. Fixed at creation.',
      ),
    ),
  dockerfile: path.optional().meta(says('The path of the Dockerfile, if it is not `Dockerfile`.')),
  compose_file: path.optional().meta(says('The path of the compose file, if it has another name.')),
  branch: text.min(1).max(255).optional().meta(says('The branch that is deployed.')),
});

const build = z
  .union(
    [
      step,
      z.strictObject({
        install: step.optional().meta(says('Installs dependencies; false: nothing is installed.')),
        command: step.optional().meta(says('Builds the app; false: nothing is built.')),
        dir: path.optional().meta(says('The folder in which the app is built and run.')),
      }),
    ],
    { error: 'must be a command, false, or an object with install, command and dir' },
  )
  .meta(
    says(
      'What makes the app ready to run or to serve: a command, false, or `install` and `command` with the `dir` to run them in. What is absent is detected.',
    ),
  );

const health = z
  .union(
    [urlPath, z.strictObject({ path: urlPath, timeout: durationOf(healthTimeoutMinutesMax).optional() })],
    {
      error: 'must be a path such as /healthz, or an object with path and timeout',
    },
  )
  .meta(
    says(
      'Which address answers 2xx when the app is ready: a path, or `path` with a `timeout` such as 5s, at most 10m.',
    ),
  );

export const Manifest = z.strictObject({
  name: fields.name.optional().meta(says('The display name of the app.')),
  tenant: ref
    .optional()
    .meta(says('The tenant the app belongs to, by slug or id; the active tenant when absent.')),
  app: app.optional().meta(says('Settings of the app.')),
  deploy: deploy.optional().meta(says('How the app is deployed.')),
  build: build.optional(),
  start: step
    .optional()
    .meta(
      says('The command that runs the app; it listens on $PORT. false: files are served, nothing is run.'),
    ),
  health: health.optional(),
  timeouts: z
    .strictObject({
      first_byte: durationOf(firstByteMinutesMax)
        .optional()
        .meta(
          says(
            `How long a request may wait for the first byte of its answer: 60s when absent, at most ${firstByteMinutesMax}m.`,
          ),
        ),
    })
    .optional()
    .meta(says('How long requests may take.')),
  static: z
    .strictObject({ dir: path.optional().meta(says('The folder with the files to serve, after the build.')) })
    .optional()
    .meta(says('With the method `static`.')),
  site: SiteConfig.optional().meta(says('How files are served.')),
  storage: z
    .strictObject({
      enabled: z.boolean().optional().meta(says('Whether the app has an object storage.')),
    })
    .optional()
    .meta(says('Object storage of the app.')),
  env: z
    .record(
      z.string().regex(manifestEnvNamePattern, 'must be the name of a variable: letters, digits and _'),
      text.max(32_768),
    )
    .optional()
    .meta(
      says('Environment variables of the app. Do not store secrets here: this file is part of the code.'),
    ),
});

export type Manifest = z.output<typeof Manifest>;

export function manifestOf({ data, faultAt }: ManifestDocument): Manifest {
  const result = Manifest.safeParse(data, { error: issueText });
  if (result.success) return result.data;
  throw new ManifestFaults(
    result.error.issues.map((issue) => {
      const ofText = issue.path[0] === 'env' && issue.code === 'invalid_type' ? '; put it in quotes' : '';
      const told = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
      return faultAt(issue.path, issue.code, `${told}${ofText}`);
    }),
  );
}

export function manifestJsonSchema({ baseUrl }: { baseUrl: string }): Record<string, unknown> {
  return draft7Schema(Manifest, {
    $id: `${baseUrl}${manifestSchemaPath}`,
    title: 'svc.yaml',
    description: 'An app and how it is built, run and served; `svc init` writes one.',
  });
}
