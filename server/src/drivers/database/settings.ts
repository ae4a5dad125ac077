import type { ClusterUse } from './embedded-place.ts';
import type { Endpoint } from './endpoint.ts';

/**
 * The whole of postgresql.conf, written anew on each start so that a new release's settings take hold. An operator's
 * own belong into ALTER SYSTEM, which goes before these.
 */
export function settingsFile(use: ClusterUse): string {
  const lines = Object.entries({ ...settings, ...(use === 'databases_of_apps' ? settingsForApps : {}) }).map(
    ([name, value]) => `${name} = '${value}'`,
  );
  return ['# Written on each start. Change settings with ALTER SYSTEM.', ...lines, ''].join('\n');
}

/** Every login by password, whatever the way in. */
export function hostAccessFile(): string {
  return ['local all all scram-sha-256', 'host all all 127.0.0.1/32 scram-sha-256', ''].join('\n');
}

/** Given on the command line, which nothing overrides: the server would not find its database elsewhere. */
export function endpointArguments(endpoint: Endpoint): string[] {
  const named =
    endpoint.kind === 'tcp'
      ? { listen_addresses: '127.0.0.1', port: endpoint.port, unix_socket_directories: '' }
      : { listen_addresses: '', port: endpoint.port, unix_socket_directories: quoted(endpoint.folder) };
  return Object.entries(named).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

const settings = {
  max_connections: 200,
  // Files in the data dir: /dev/shm is small in containers, and whatever tidies it up takes the database down.
  dynamic_shared_memory_type: 'mmap',
  shared_buffers: '256MB',
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  wal_level: 'replica',
  min_wal_size: '80MB',
  max_wal_size: '1GB',
  checkpoint_timeout: '5min',
  // A disk of this century: the default of 4 keeps the planner from indexes.
  random_page_cost: 1.1,
  password_encryption: 'scram-sha-256',
  timezone: 'UTC',
  log_timezone: 'UTC',
  datestyle: 'iso, ymd',
  lc_messages: 'C',
  default_text_search_config: 'pg_catalog.simple',
  log_destination: 'stderr',
  logging_collector: 'off',
  log_line_prefix: '%m [%p] %q%u@%d ',
  // The default also logs each statement that fails, with the values in it: those are our users' rows.
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: 0,
  // Of databases of apps as well, whose roles may not be told so one by one.
  log_error_verbosity: 'terse',
  // A statement whose client is gone would run on, and hold its locks.
  ...(process.platform === 'win32' ? {} : { client_connection_check_interval: '5s' }),
};

/** Small, since it is there beside the control plane's; more connections than the gate has places, so that we get in. */
const settingsForApps = {
  max_connections: 120,
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  max_wal_senders: 0,
  max_replication_slots: 0,
};

/** unix_socket_directories is a list: a comma or a space in the folder's name would make two of it. */
function quoted(folder: string): string {
  return `"${folder.replaceAll('"', '""')}"`;
}
