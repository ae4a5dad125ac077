-- Who looks at sites: a browser's visit at one host, and the codes by which visits begin.

-- Made on the platform, used up at the site, within a minute.
create table svc.site_codes (
  -- SHA-256, as of all secrets.
  code_hash     text primary key check (code_hash ~ '^[0-9a-f]{64}$'),
  app_id        uuid not null references svc.apps on delete cascade,
  -- Scheme, host and port of the site: good nowhere else.
  origin        text not null,
  user_id       uuid not null references svc.users on delete cascade,
  -- The sign-in to the platform that the visit will rest on: its session, or its grant.
  credential_id text not null,
  -- Of what the browser that began was given; null where a program asked for the code.
  state_hash    text,
  created_at    timestamptz not null,
  expires_at    timestamptz not null
);
create index site_codes_by_end on svc.site_codes (expires_at);

create table svc.site_visits (
  token_hash    text primary key check (token_hash ~ '^[0-9a-f]{64}$'),
  app_id        uuid not null references svc.apps on delete cascade,
  -- The one host that it counts at, as it counts for the one app.
  host          text not null,
  user_id       uuid not null references svc.users on delete cascade,
  credential_id text not null,
  created_at    timestamptz not null,
  expires_at    timestamptz not null
);
create index site_visits_of_app on svc.site_visits (app_id);
create index site_visits_by_end on svc.site_visits (expires_at);
