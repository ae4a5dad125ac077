-- The preview of a branch is an app of its own with a parent, so that nothing of the parent is in its reach.
alter table svc.apps add column preview_of uuid references svc.apps on delete cascade;
create index apps_preview_of on svc.apps (preview_of) where preview_of is not null;
-- Lists count without previews.
drop index svc.apps_seen;
create index apps_seen on svc.apps (tenant_id, record, visibility, id)
  include (owner_id, deployment_status, operating_status, review_status, preview_of);

create table svc.previews (
  app_id      uuid primary key references svc.apps on delete cascade,
  tenant_id   uuid not null references svc.tenants on delete cascade,
  parent_id   uuid not null references svc.apps on delete cascade,
  branch      text not null,
  -- The part of the host before `--`.
  slug        text not null,
  commit_sha  text not null,
  pushed_by   uuid references svc.users on delete set null,
  pushed_at   timestamptz not null,
  ttl_seconds int not null,
  expires_at  timestamptz not null,
  created_at  timestamptz not null,
  unique (parent_id, branch),
  unique (parent_id, slug)
);
create index previews_expiry on svc.previews (expires_at);

-- The preview that a push has deployed.
alter table svc.git_pushes add column preview_id uuid references svc.apps on delete set null;

-- Variables of previews stand beside those of the app itself.
alter table svc.app_env
  add column environment text not null default 'production' check (environment in ('production', 'preview')),
  drop constraint app_env_pkey,
  add primary key (app_id, environment, name);
