-- Certificates of custom domains, and how their orders stand.

create table svc.certificates (
  domain_id      uuid primary key references svc.domains on delete cascade,
  tenant_id      uuid not null references svc.tenants on delete cascade,
  host           text not null,
  -- The last one that was issued; all of these or none.
  chain_pem      text,
  key_sealed     bytea,
  not_before     timestamptz,
  not_after      timestamptz,
  issued_at      timestamptz,
  -- When the next one is ordered: at once, after a failure, or in time before this one ends.
  next_try_at    timestamptz not null,
  tried_at       timestamptz,
  -- In a row.
  failures       int not null default 0,
  failure_reason text,
  -- For people.
  failure_text   text,
  -- Before then the authority does not want to be asked, whoever wishes it.
  held_until     timestamptz,
  -- A copy of the server that orders it has until then, and says with which id.
  ordering_until timestamptz,
  ordering_id    uuid,
  check (num_nulls(chain_pem, key_sealed, not_before, not_after, issued_at) in (0, 5))
);
create index certificates_due on svc.certificates (next_try_at);

-- What the authority is answered with when it comes to see whether a host leads here; any copy of the server answers.
create table svc.acme_challenges (
  token      text primary key,
  text       text not null,
  host       text not null,
  expires_at timestamptz not null
);
