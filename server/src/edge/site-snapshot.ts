import type { authModes } from '@svc/contract/apps.ts';
import type { CompiledConfig } from './compile-config.ts';
import type { PreparedFiles } from './prepared-files.ts';
import type { VisitedSite } from './visitors.ts';

/** A file of a release: where its bytes are, and how many there are in each form. */
export interface SiteFile {
  path: string;
  /** `"` and half of the sum of its bytes: each form ends it in its own way. */
  tag: string;
  size: number;
  blobId: string;
  /** Null where it is not kept in this form. */
  gzipSize: number | null;
  brotliSize: number | null;
}

/** A release as it was read: nothing of it ever changes, so all who ask share it. */
export interface ReleaseContent {
  releaseId: string;
  files: ReadonlyMap<string, SiteFile>;
  /** A mark that whoever looks for something to drop takes away: all who share it set the same one. */
  use: { isRecent: boolean };
}

/**
 * All that one answer needs to know of a site, taken at once: a request is answered from one of these, so it never sees
 * half of a switch.
 */
export interface SiteSnapshot extends VisitedSite {
  /** Shown to everybody, without asking who they are. */
  isOpen: boolean;
  /** Null: there is an app, and nothing that it shows at this host. */
  release: ShownRelease | null;
  /** What answers in the place of a release; null: nothing runs. */
  app: RunningApp | null;
}

/** An app that answers by itself, and how it wants to know who asks. */
export interface RunningApp {
  deploymentId: string;
  /** `host:port`; empty while it starts. */
  addresses: readonly string[];
  authMode: (typeof authModes)[number];
  tenantSlug: string;
}

export interface ShownRelease extends ReleaseContent {
  config: CompiledConfig;
  prepared: PreparedFiles;
}
