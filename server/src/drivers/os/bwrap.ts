/** The start of each sandbox: namespaces of its own, no rights, no way to get any. */
export const bwrapBase = [
  'bwrap',
  ...['--unshare-user', '--disable-userns', '--uid', '1000', '--gid', '1000'],
  ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
  ...['--die-with-parent', '--cap-drop', 'ALL', '--proc', '/proc', '--dev', '/dev'],
];

/** Of the system: programs, libraries and certificates. */
export const systemFolders = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  ...['/etc/ssl', '/etc/pki'],
];

export const mountReadOnly = (paths: readonly string[]) =>
  paths.flatMap((path) => ['--ro-bind-try', path, path]);
