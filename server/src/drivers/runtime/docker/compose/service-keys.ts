/** What a service may say. */
export const allowed = [
  ...['image', 'build', 'command', 'entrypoint', 'environment', 'ports', 'expose', 'volumes', 'depends_on'],
  ...['healthcheck', 'labels', 'working_dir', 'user', 'restart', 'init'],
];
export const healthKeys = ['test', 'interval', 'timeout', 'retries', 'start_period', 'disable'];

export const outside = 'is not allowed: an app stays in its containers';
const elsewhere = 'is not allowed: everything has to stand in this file';
/** Of what it may not, why; what is not named here is not known. */
export const reasons: Record<string, string> = {
  ...Object.fromEntries(
    [
      'privileged',
      'network_mode',
      'pid',
      'ipc',
      'uts',
      'userns_mode',
      'cgroup',
      'cgroup_parent',
      'devices',
      'gpus',
    ]
      .concat([
        'device_cgroup_rules',
        'cap_add',
        'security_opt',
        'sysctls',
        'runtime',
        'volumes_from',
        'group_add',
      ])
      .concat([
        'credential_spec',
        'isolation',
        'oom_kill_disable',
        'oom_score_adj',
        'tmpfs',
        'ulimits',
        'shm_size',
      ])
      .map((key) => [key, outside]),
  ),
  extends: elsewhere,
  env_file: `${elsewhere}; variables are set by \`svc env set\``,
  networks: 'is not allowed: the services of an app have a network of their own, and no other',
  external_links: 'is not allowed: the services of an app have a network of their own, and no other',
  links: 'is not needed: services find one another by their names',
  secrets: 'is not allowed: set them by `svc env set`, and use them by their names',
  configs: 'is not allowed: put files into an image',
  deploy: 'is not allowed: limits are those of the app’s tier',
  container_name: 'is not allowed: names are given by the platform',
};
