/**
 * Runs git without a shell, user configuration, prompts, hooks, other protocols than HTTP(S), or passwords in
 * arguments.
 */
export interface GitClient {
  checkOut(job: CheckOut): Promise<{ sha: string; message: string }>;
  pushFirst(job: PushFirst): Promise<{ sha: string } | null>;
  copyBranch(job: CopyBranch): Promise<{ sha: string } | null>;
}

export interface Remote {
  url: string;
  username: string;
  password: string;
}

export interface CheckOut {
  from: Remote;
  ref: string;
  into: string;
  signal: AbortSignal;
  bytesMax: number;
}

export interface PushFirst {
  to: Remote;
  branch: string;
  folder: string;
  author: { name: string; email: string };
  message: string;
  /** Commit time. Fixed, so that a retry creates the same commit. */
  at: Date;
  signal: AbortSignal;
}

export interface CopyBranch {
  from: Remote;
  fromRef: string;
  to: Remote;
  branch: string;
  signal: AbortSignal;
  bytesMax?: number;
  edit?: Edit;
}

export interface Edit {
  names: readonly string[];
  fileBytesMax: number;
  change(text: string): string | null;
  author: PushFirst['author'];
  message: string;
  at: Date;
}

export class GitError extends Error {
  constructor(
    readonly reason: 'not_found' | 'refused' | 'unreachable' | 'too_large',
    message: string,
  ) {
    super(message);
    this.name = 'GitFailure';
  }
}
