import type { DetectedPlan } from '@svc/contract/git-host.shapes.ts';
import type { z } from 'zod';

export type Way = z.output<typeof DetectedPlan>;

export interface Evidence {
  file: string;
  says: string;
}

export interface Detected {
  /** The one to take, and others that would do; the best first. None where nothing is recognized. */
  ways: Way[];
  packageManager: string | null;
  evidence: Evidence[];
}

export const noWay: Way = {
  deploy_method: 'docker',
  language: 'unknown',
  framework: null,
  install_command: null,
  build_command: null,
  start_command: null,
  output_dir: null,
  dockerfile: null,
  compose_file: null,
};
