-- One list of everything that waits for a decision: publications, promotions of sites and deployments.

create view svc.reviews as
  select id, tenant_id, app_id, case pinned when 'built' then 'deployment' else 'publication' end as kind, status,
    visibility, visibility_before, pinned, deployment_id, release_id, digest, note, requested_by, requested_at,
    expires_at, decided_by, decided_at, reason
  from svc.publication_requests
  union all
  select p.id, p.tenant_id, p.app_id, 'promotion',
    case p.status when 'stale' then 'superseded' when 'canceled' then 'withdrawn' else p.status end,
    a.visibility, a.visibility, 'staged', r.deployment_id, p.release_id, p.digest, p.note, p.requested_by,
    p.requested_at, null, p.decided_by, p.decided_at, p.reason
  from svc.static_promotions p
  join svc.static_releases r on r.id = p.release_id
  join svc.apps a on a.id = p.app_id;

-- While a review is pending, those who decide may open the app. Read by modules that come before the reviews.
create function svc.is_in_review(app uuid) returns boolean language sql stable as $$
  select exists (select from svc.publication_requests
      where app_id = app and status = 'pending' and expires_at > now())
    or exists (select from svc.static_promotions where app_id = app and status = 'pending')
$$;
create index static_promotions_of_tenant on svc.static_promotions (tenant_id, requested_at desc, id desc);

-- When somebody last opened a deployment that waits for its review: it runs for a while after that.
alter table svc.deployments add column opened_at timestamptz;
create index deployments_opened on svc.deployments (opened_at) where opened_at is not null;

-- The files of the source, to compare two deployments: {path: hash}.
create table svc.deployment_sources (
  deployment_id uuid primary key references svc.deployments on delete cascade,
  files         jsonb not null
);
