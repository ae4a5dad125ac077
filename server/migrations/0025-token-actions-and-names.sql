-- Tokens have the actions read, write, code and deploy. Existing tokens keep read and write, which no longer
-- include git.
alter table svc.pats add constraint pats_actions_check
  check (cardinality(actions) > 0 and actions <@ array['read', 'write', 'code', 'deploy']);

-- Names contain no control, invisible and text-direction characters (contract/src/safe-names.ts).
do $$
declare
  unsafe constant text :=
    '[\u0001-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]';
begin
  update svc.apps set name = coalesce(nullif(btrim(regexp_replace(name, unsafe, '', 'g')), ''), slug)
    where name ~ unsafe;
  update svc.tenants set name = coalesce(nullif(btrim(regexp_replace(name, unsafe, '', 'g')), ''), slug)
    where name ~ unsafe;
  update svc.users set name = coalesce(nullif(btrim(regexp_replace(name, unsafe, '', 'g')), ''), email)
    where name ~ unsafe;
  update svc.pats set name = coalesce(nullif(btrim(regexp_replace(name, unsafe, '', 'g')), ''), hint)
    where name ~ unsafe;
end
$$;
