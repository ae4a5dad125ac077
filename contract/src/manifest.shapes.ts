import { z } from 'zod';
import { createApp } from './apps.shapes.ts';
import { deployMethods } from './apps.ts';
import { declaredRoles, declaredTables, refuseUndeclaredRoles } from './declared-tables.shapes.ts';
import { issueText } from './issue-text.ts';
import {
  durationMs,
  firstByteMinutesMax,
  healthTimeoutMinutesMax,
  instancesMax,
  isTimeZone,
  manifestDurationPattern,
  manifestEnvNamePattern,
  manifestSchemaPath,
  manifestUrlPathPattern,
  processesMax,
  processNamePattern,
  scheduleCronPattern,
  scheduleMinutesMax,
  scheduleNamePattern,
  schedulesMax,
  sleepMinutes,
  sleepPattern,
} from './manifest.ts';
import type { ManifestDocument } from './manifest-document.ts';
import { ManifestFaults } from './manifest-faults.ts';
import { branchPatternPattern, branchPatternsMax, previewTtlHours, previewTtlPattern } from './previews.ts';
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

const instances = (min: 0 | 1) =>
  z
    .int(`must be a whole number from ${min} to ${instancesMax}`)
    .min(min, `must be at least ${min}`)
    .max(instancesMax, `must be at most ${instancesMax}`);

const processes = z
  .record(
    z
      .string()
      .regex(
        processNamePattern,
        'must be letters, digits, _ and -, and not web or release: use start, instances and release',
      ),
    z.union([step, z.strictObject({ command, instances: instances(0).optional() })], {
      error: 'must be a command, false, or an object with command and instances',
    }),
  )
  .refine((all) => Object.keys(all).length <= processesMax, `must be at most ${processesMax} processes`)
  .meta(
    says(
      'What runs beside the app, by name: a command, or `command` with `instances`. It has no port. false: not the one of the Procfile.',
    ),
  );

const isSleep = (text: string) => {
  const minutes = durationMs(text) / 60_000;
  return minutes >= sleepMinutes.min && minutes <= sleepMinutes.max;
};
const sleep = z
  .string()
  .regex(sleepPattern, 'must be a duration such as 15m or 2h')
  .refine(isSleep, `must be from ${sleepMinutes.min}m to ${sleepMinutes.max / 60}h`)
  .meta(
    says(
      'The app stops after this time without a request, and the next request starts it: from 5m to 24h. Absent: it never sleeps.',
    ),
  );

const schedule = z
  .strictObject({
    name: z
      .string()
      .regex(scheduleNamePattern, 'must be at most 63 of a-z, 0-9 and -, beginning with a letter')
      .meta(says('The name in commands and notifications; unique in the app.')),
    cron: z
      .string()
      .regex(scheduleCronPattern, 'must be five fields, such as 30 2 * * *')
      .meta(says('Minute, hour, day of the month, month, day of the week.')),
    timezone: z
      .string()
      .refine(isTimeZone, 'must be a time zone such as Europe/Berlin')
      .optional()
      .meta(says('The time zone of `cron`; UTC when absent.')),
    run: command.optional().meta(says('A command, run once in the live build.')),
    path: urlPath.optional().meta(says('A path of the app that gets a POST request.')),
    timeout: durationOf(scheduleMinutesMax)
      .optional()
      .meta(says(`When a run is ended: 60m when absent, at most ${scheduleMinutesMax}m.`)),
  })
  .refine(({ run, path: target }) => (run === undefined) !== (target === undefined), {
    error: 'must have either run or path',
  });
const ttlHours = (text: string) => durationMs(text) / 3_600_000;
const branchPattern = z
  .string()
  .regex(branchPatternPattern, 'must be the name of a branch, with * and ** as placeholders');
const previews = z
  .strictObject({
    branches: z
      .union(
        [
          z.literal(true),
          branchPattern.transform((one) => [one]),
          z.array(branchPattern).min(1).max(branchPatternsMax),
        ],
        { error: 'must be true, or one or more patterns such as feature/* and !dependabot/**' },
      )
      .meta(
        says('Which branches get a preview: true for all, or one or more patterns; one with ! excludes.'),
      ),
    ttl: z
      .string()
      .regex(previewTtlPattern, 'must be a duration such as 12h or 7d')
      .refine(
        (text) => ttlHours(text) >= previewTtlHours.min && ttlHours(text) <= previewTtlHours.max,
        `must be from ${previewTtlHours.min}h to ${previewTtlHours.max / 24}d`,
      )
      .optional()
      .meta(says('How long a preview stays without a push: from 1h to 30d; 7d when absent.')),
    seed: path
      .optional()
      .meta(
        says('A file with the first rows of the tables of a preview: .json by table, or .csv of one table.'),
      ),
  })
  .meta(
    says('Branches that are deployed under hosts of their own. The connected branch says which ones match.'),
  );

export const Manifest = z
  .strictObject({
    name: fields.name.optional().meta(says('The display name of the app.')),
    tenant: ref
      .optional()
      .meta(says('The tenant the app belongs to, by slug or id; the active tenant when absent.')),
    app: app.optional().meta(says('Settings of the app.')),
    deploy: deploy.optional().meta(says('How the app is deployed.')),
    build: build.optional(),
    release: step
      .optional()
      .meta(
        says(
          'A command that runs after each build, before the new version goes live, such as a migration. false: the one of the Procfile is not run.',
        ),
      ),
    start: step
      .optional()
      .meta(
        says('The command that runs the app; it listens on $PORT. false: files are served, nothing is run.'),
      ),
    instances: instances(1)
      .optional()
      .meta(says(`How many instances answer requests: from 1 to ${instancesMax}; 1 when absent.`)),
    processes: processes.optional(),
    sleep: sleep.optional(),
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
    schedules: z
      .array(schedule)
      .max(schedulesMax)
      .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, {
        error: 'must have different names',
      })
      .optional()
      .meta(says('What runs at fixed times, in the live build.')),
    static: z
      .strictObject({
        dir: path.optional().meta(says('The folder with the files to serve, after the build.')),
      })
      .optional()
      .meta(says('With the method `static`.')),
    site: SiteConfig.optional().meta(says('How files are served.')),
    storage: z
      .strictObject({
        enabled: z.boolean().optional().meta(says('Whether the app has an object storage.')),
      })
      .optional()
      .meta(says('Object storage of the app.')),
    roles: declaredRoles
      .optional()
      .meta(says('The roles that the rules of the tables name; people get them with `svc apps roles set`.')),
    tables: declaredTables
      .optional()
      .meta(
        says(
          'Tables by name, with columns, indexes and rules. svc apply and deployments make them so; nothing is dropped without --prune.',
        ),
      ),
    env: z
      .record(
        z.string().regex(manifestEnvNamePattern, 'must be the name of a variable: letters, digits and _'),
        text.max(32_768),
      )
      .optional()
      .meta(
        says('Environment variables of the app. Do not store secrets here: this file is part of the code.'),
      ),
    previews: previews.optional(),
  })
  .superRefine((manifest, ctx) =>
    refuseUndeclaredRoles(manifest, (path, message) => ctx.addIssue({ code: 'custom', path, message })),
  );

export type Manifest = z.output<typeof Manifest>;

export function manifestOf({ data, faultAt }: ManifestDocument): Manifest {
  const result = Manifest.safeParse(data, { error: issueText });
  if (result.success) return result.data;
  throw new ManifestFaults(
    result.error.issues.map((issue) => {
      const ofText = issue.path[0] === 'env' && issue.code === 'invalid_type' ? '; put it in quotes' : '';
      const detail =
        issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
      return faultAt(issue.path, issue.code, `${detail}${ofText}`);
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
