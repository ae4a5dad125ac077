import { z } from 'zod';
import { createApp } from './apps.shapes.ts';
import { deployMethods } from './apps.ts';
import { issueText } from './issue-text.ts';
import {
  durationMs,
  healthTimeoutMinutesMax,
  manifestDurationPattern,
  manifestEnvNamePattern,
  manifestPathPattern,
  manifestSchemaPath,
  manifestUrlPathPattern,
} from './manifest.ts';
import type { ManifestDocument } from './manifest-document.ts';
import { ManifestFaults } from './manifest-faults.ts';
import { ref, text } from './shapes.ts';
import { SiteConfig } from './site-config.shapes.ts';

const says = (description: string) => ({ description });
const command = text.min(1).max(2_000);
const path = z
  .string()
  .regex(manifestPathPattern, 'must be a path inside the folder: relative, with /, without ..');
const urlPath = z.string().regex(manifestUrlPathPattern, 'must be the path of an address, such as /healthz');
const timeout = z
  .string()
  .regex(manifestDurationPattern, 'must be a duration such as 500ms, 5s or 1m')
  .refine(
    (text) => durationMs(text) <= healthTimeoutMinutesMax * 60_000,
    `must be at most ${healthTimeoutMinutesMax}m`,
  );
/** As `apps.create` takes them: what is right there is right here. */
const fields = createApp.body.shape;

const app = z.strictObject({
  slug: fields.slug.meta(
    says('The name of the app in addresses and commands; made from `name` when absent.'),
  ),
  subdomain: fields.subdomain.meta(says('The label of the host that the app answers at; null for none.')),
  summary: fields.summary.meta(says('One line for lists; empty for none.')),
  description: fields.description.meta(says('What the app is for; empty for none.')),
  category: fields.category.meta(says('The category it stands in: a slug or an id.')),
  auth_mode: fields.auth_mode.meta(says('How the app itself knows who calls it.')),
  data_scopes: fields.data_scopes.meta(says('Which data the app asks for.')),
  resource_preset: fields.resource_preset.meta(
    says('Its resource tier; the tenant may allow less than the largest.'),
  ),
  icon_url: fields.icon_url.meta(says('Icon for light surroundings.')),
  icon_dark_url: fields.icon_dark_url.meta(says('Icon for dark surroundings.')),
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
  dockerfile: path.optional().meta(says('The Dockerfile, when it has another name or place.')),
  compose_file: path.optional().meta(says('The compose file, when it has another name or place.')),
  branch: text.min(1).max(255).optional().meta(says('The branch that is deployed.')),
});

const build = z
  .union([command, z.strictObject({ command, dir: path.optional() })], {
    error: 'must be a command, or an object with command and dir',
  })
  .meta(
    says('What makes the app ready to run or to serve: a command, or `command` with the `dir` to run it in.'),
  );

const health = z
  .union([urlPath, z.strictObject({ path: urlPath, timeout: timeout.optional() })], {
    error: 'must be a path such as /healthz, or an object with path and timeout',
  })
  .meta(
    says(
      'Which address answers 2xx when the app is ready: a path, or `path` with a `timeout` such as 5s, at most 10m.',
    ),
  );

/** The whole of `svc.yaml`. Nothing is required: a file that only names the app is of use to commands. */
export const Manifest = z.strictObject({
  name: fields.name.optional().meta(says('The name of the app as people read it.')),
  tenant: ref
    .optional()
    .meta(says('The tenant the app belongs to, by slug or id; the active tenant when absent.')),
  app: app.optional().meta(says('The record of the app.')),
  deploy: deploy.optional().meta(says('How it gets to run.')),
  build: build.optional(),
  start: command.optional().meta(says('The command that runs the app; it listens on $PORT.')),
  health: health.optional(),
  static: z
    .strictObject({ dir: path.optional().meta(says('The folder with the files to serve, after the build.')) })
    .optional()
    .meta(says('With the method `static`.')),
  site: SiteConfig.optional().meta(says('How files are served.')),
  storage: z
    .strictObject({
      enabled: z.boolean().optional().meta(says('Whether the app has an object storage of its own.')),
    })
    .optional()
    .meta(says('Files that the app keeps.')),
  env: z
    .record(
      z.string().regex(manifestEnvNamePattern, 'must be the name of a variable: letters, digits and _'),
      text.max(32_768),
    )
    .optional()
    .meta(says('Variables for the app. Nothing secret: this file is kept with the code.')),
});

export type Manifest = z.output<typeof Manifest>;

/** Every value of it checked. Throws `ManifestFaults`. */
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

/** What editors check the file by. Draft 7 is the one that all of them know. */
export function manifestJsonSchema({ baseUrl }: { baseUrl: string }): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(Manifest, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-7',
  });
  return {
    $schema,
    $id: `${baseUrl}${manifestSchemaPath}`,
    title: 'svc.yaml',
    description: 'An app and how it is built, run and served; `svc init` writes one.',
    ...rest,
  };
}
