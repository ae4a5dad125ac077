/**
 * The real git. Started without a shell, with the least environment: no configuration of the machine or its people, no
 * prompts, no hooks, no other protocols than HTTP(S); a password never stands among the arguments. Names were checked
 * by the contract's patterns before, and are checked here once more.
 */
export interface GitClient {
  /** One commit with its files, without history, into a folder that is empty or not there. Without `.git` afterwards. */
  checkOut(job: CheckOut): Promise<{ sha: string; message: string }>;
  /** The files of a folder as the first commit of an empty repository; null where it is not empty any more. */
  pushFirst(job: PushFirst): Promise<{ sha: string } | null>;
  /** All of one branch of a repository into another that is empty; null where that is not empty any more. */
  copyBranch(job: CopyBranch): Promise<{ sha: string } | null>;
}

export interface Remote {
  url: string;
  username: string;
  password: string;
}

export interface CheckOut {
  from: Remote;
  /** A branch, a tag or a commit. */
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
  /** So that the same files give the same commit, however often it is tried. */
  at: Date;
  signal: AbortSignal;
}

export interface CopyBranch {
  from: Remote;
  fromRef: string;
  to: Remote;
  branch: string;
  signal: AbortSignal;
  /** 2 GiB where it is not said. */
  bytesMax?: number;
  /** What is different in the copy, as a commit on top of the branch. */
  edit?: Edit;
}

export interface Edit {
  /** Files of the top folder; those that are not there are not made. */
  names: readonly string[];
  /** A larger file stays as it is. */
  fileBytesMax: number;
  /** Null: it stays as it is. */
  change(text: string): string | null;
  author: PushFirst['author'];
  message: string;
  /** See `PushFirst`. */
  at: Date;
}

/** The remote said no, or could not be reached; what it said is in the message, without secrets. */
export class GitFailure extends Error {
  constructor(
    readonly reason: 'not_found' | 'refused' | 'unreachable' | 'too_large',
    message: string,
  ) {
    super(message);
    this.name = 'GitFailure';
  }
}
