-- How many people an app may invite and become `invite_only` without a person's approval; 0: every request is reviewed.
alter table svc.tenants add column invite_only_people_max int not null default 0
  check (invite_only_people_max between 0 and 1000);

-- Of an app that became `invite_only` by that policy: how many people it may invite. Null: no limit by policy.
alter table svc.apps add column invited_people_max int;
