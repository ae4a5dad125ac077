-- Static sites: releases are immutable lists of files by the SHA-256 of their bytes; a site points at two of them.

create table svc.static_sites (
  app_id            uuid primary key references svc.apps on delete cascade,
  tenant_id         uuid not null references svc.tenants on delete cascade,
  -- What releases that say nothing themselves are served with.
  config            jsonb not null default '{}',
  staging_enabled   boolean not null default false,
  -- The pointer stays when a site is unpublished, so that it can be shown again as it was.
  is_published      boolean not null default false,
  active_release_id uuid,
  staged_release_id uuid,
  -- Moves with each change of what is staged: a release or its configuration.
  generation        bigint not null default 0,
  -- Of the next release.
  next_number       int not null default 1,
  created_at        timestamptz not null,
  updated_at        timestamptz not null
);

create table svc.static_releases (
  id             uuid primary key,
  app_id         uuid not null references svc.static_sites on delete cascade,
  tenant_id      uuid not null references svc.tenants on delete cascade,
  -- 1, 2, 3 … within the app, for people.
  number         int not null,
  -- A label of whoever made it; need not be unique.
  version        text not null default '',
  state          text not null check (state in ('draft', 'finalized', 'revoked', 'abandoned', 'expired')),
  -- Of all paths with their sums, and of the release's own configuration.
  manifest_sha256 text not null check (manifest_sha256 ~ '^[0-9a-f]{64}$'),
  files          int not null,
  bytes          bigint not null,
  -- What the release itself says about how it is served.
  own_config     jsonb not null default '{}',
  -- What it is served with: the site's configuration under its own.
  served_config  jsonb not null default '{}',
  -- What finalizing it leads to: nothing, or the pointer that the rules allow.
  on_finalize    text not null check (on_finalize in ('nothing', 'deploy')),
  -- The widest visibility that its present content and configuration were reviewed for.
  reviewed_for   text check (reviewed_for in ('invite_only', 'public', 'internet')),
  created_by     uuid not null,
  created_at     timestamptz not null,
  finalized_at   timestamptz,
  -- The last time it became what visitors see; null: never.
  activated_at   timestamptz,
  revoked_by     uuid,
  revoked_at     timestamptz,
  unique (app_id, number)
);
create index static_releases_of_app on svc.static_releases (app_id, state, number desc);
-- The same draft again is the same draft.
create index static_drafts on svc.static_releases (app_id, manifest_sha256) where state = 'draft';
create index static_drafts_by_age on svc.static_releases (created_at) where state = 'draft';

alter table svc.static_sites
  add foreign key (active_release_id) references svc.static_releases,
  add foreign key (staged_release_id) references svc.static_releases;

create table svc.static_files (
  release_id uuid not null references svc.static_releases on delete cascade,
  path       text not null,
  sha256     text not null,
  size       bigint not null,
  primary key (release_id, path)
);
create index static_files_by_sum on svc.static_files (sha256, release_id);

-- Bytes that have arrived. Each app has its own: what another app holds can not be asked about.
create table svc.static_blobs (
  app_id      uuid not null references svc.apps on delete cascade,
  tenant_id   uuid not null references svc.tenants on delete cascade,
  sha256      text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  size        bigint not null,
  -- Names the bytes in the object store; made anew each time they arrive, so that what removes old bytes never meets new ones.
  blob_id     uuid not null,
  -- Compressed once, when they arrived; null: not kept, since it would not be smaller.
  gzip_size   bigint,
  brotli_size bigint,
  stored_at   timestamptz not null,
  primary key (app_id, sha256)
);

create table svc.static_promotions (
  id           uuid primary key,
  app_id       uuid not null references svc.static_sites on delete cascade,
  tenant_id    uuid not null references svc.tenants on delete cascade,
  release_id   uuid not null references svc.static_releases on delete cascade,
  -- Of the content and the configuration that are to be reviewed: nothing else is approved.
  digest       text not null,
  generation   bigint not null,
  status       text not null check (status in ('pending', 'approved', 'rejected', 'stale', 'canceled')),
  note         text not null default '',
  requested_by uuid not null,
  requested_at timestamptz not null,
  decided_by   uuid,
  decided_at   timestamptz,
  reason       text not null default ''
);
create unique index static_promotions_open on svc.static_promotions (app_id) where status = 'pending';
create index static_promotions_of_app on svc.static_promotions (app_id, requested_at desc);
