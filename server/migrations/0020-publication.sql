-- Requests to show an app to more people. Each is of exactly one thing, and is decided by somebody else than who asked.

create table svc.publication_requests (
  id                uuid primary key,
  tenant_id         uuid not null references svc.tenants on delete cascade,
  app_id            uuid not null references svc.apps on delete cascade,
  status            text not null check (status in
    ('pending', 'approved', 'rejected', 'withdrawn', 'superseded', 'expired')),
  visibility        text not null check (visibility in ('invite_only', 'public', 'internet')),
  visibility_before text not null check (visibility_before in ('private', 'invite_only', 'public', 'internet')),
  -- What answers for the app, or what its staging host shows.
  pinned            text not null check (pinned in ('live', 'staged')),
  deployment_id     uuid,
  -- Of a site; null where a deployment runs.
  release_id        uuid,
  digest            text not null,
  note              text not null default '',
  requested_by      uuid not null,
  requested_at      timestamptz not null,
  expires_at        timestamptz not null,
  decided_by        uuid,
  decided_at        timestamptz,
  reason            text not null default '',
  check (deployment_id is not null or release_id is not null),
  check ((status = 'pending') = (decided_at is null))
);
create unique index publication_requests_open on svc.publication_requests (app_id) where status = 'pending';
create index publication_requests_of_app on svc.publication_requests (app_id, requested_at desc, id desc);
create index publication_requests_of_tenant on svc.publication_requests (tenant_id, requested_at desc, id desc);
create index publication_requests_due on svc.publication_requests (expires_at) where status = 'pending';
