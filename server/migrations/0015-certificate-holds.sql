-- An authority that is asked too often says so to one order, and means the account: no copy of the server asks before.
create table svc.acme_holds (
  -- Whose, by its directory.
  authority  text primary key,
  held_until timestamptz not null
);

-- One order of a tenant at a time.
create index certificates_ordering on svc.certificates (tenant_id) where ordering_until is not null;
