/**
 * Events that wait for their delivery. The events of a session for a subscription are one queue; `owner` is the digest of the app and the subscription. The
 * statement that writes to a session also calls `add_events`, after the function that locks the row of the session. So the numbers of the events have the order
 * of the writes. A function that adds to a queue, or ends the claim of a queue, first locks the row of the queue.
 */
export const OUTBOX = `
create table {schema}.outbox_queues (
  n bigint generated always as identity primary key,
  owner text collate "C" not null, session text collate "C" not null,
  due bigint not null, attempts integer not null default 0, claim text collate "C",
  unique (owner, session)
);
create index on {schema}.outbox_queues (owner, due);
create table {schema}.outbox (
  n bigint generated always as identity primary key,
  queue bigint not null, owner text collate "C" not null, id text collate "C" not null,
  at bigint not null, data text not null,
  unique (queue, id)
);
create index on {schema}.outbox (queue, n);
create index on {schema}.outbox (owner, n);

create function {schema}.add_events(p_name text, p_at bigint, p_events json) returns void language plpgsql as $$
declare e record; q bigint; at bigint := {schema}.clock_ms(p_at);
begin
  for e in select * from json_to_recordset(p_events) as x (owner text, id text, data text) loop
    insert into {schema}.outbox_queues (owner, session, due) values (e.owner, p_name, at)
      on conflict (owner, session) do update set owner = excluded.owner returning n into q;
    insert into {schema}.outbox (queue, owner, id, at, data) values (q, e.owner, e.id, at, e.data)
      on conflict (queue, id) do nothing;
  end loop;
end $$;

create function {schema}.claim_events(
  p_owner text, p_claim text, p_at bigint, p_lease bigint, p_queues integer, p_events integer
) returns table (queue bigint, attempts integer, id text, data text) language plpgsql as $$
declare at bigint := {schema}.clock_ms(p_at);
begin
  return query
    with free as (
      select q.n from {schema}.outbox_queues q where q.owner = p_owner and q.due <= at
      order by q.due, q.n limit p_queues for update skip locked
    ),
    claimed as (
      update {schema}.outbox_queues q set due = at + p_lease, claim = p_claim, attempts = q.attempts + 1
      from free where q.n = free.n returning q.n, q.attempts
    )
    select c.n, c.attempts, e.id, e.data from claimed c
      cross join lateral (select o.* from {schema}.outbox o where o.queue = c.n order by o.n limit p_events) e
      order by c.n, e.n;
  -- A node that died after the last delivery of a queue left the queue without events.
  delete from {schema}.outbox_queues q where q.owner = p_owner and q.claim = p_claim
    and not exists (select from {schema}.outbox o where o.queue = q.n);
end $$;

create function {schema}.keep_claim(
  p_queue bigint, p_claim text, p_at bigint, p_lease bigint, p_delivered text
) returns boolean language plpgsql as $$
begin
  update {schema}.outbox_queues set due = {schema}.clock_ms(p_at) + p_lease,
      attempts = case when p_delivered is null then attempts else 0 end
    where n = p_queue and claim = p_claim;
  if not found then return false; end if;
  delete from {schema}.outbox where queue = p_queue and id = p_delivered;
  return true;
end $$;

create function {schema}.end_claim(p_queue bigint, p_claim text, p_at bigint, p_retry bigint) returns void language plpgsql as $$
begin
  update {schema}.outbox_queues set claim = null, due = {schema}.clock_ms(p_at) + p_retry where n = p_queue and claim = p_claim;
  if not found then return; end if;
  delete from {schema}.outbox_queues where n = p_queue and not exists (select from {schema}.outbox where queue = p_queue);
end $$;

create function {schema}.trim_events(p_owner text, p_before bigint, p_count integer) returns integer language plpgsql as $$
declare removed integer; newest bigint;
begin
  select n into newest from {schema}.outbox where owner = p_owner order by n desc limit 1 offset p_count;
  delete from {schema}.outbox where owner = p_owner and (at < p_before or n <= coalesce(newest, 0));
  get diagnostics removed = row_count;
  return removed;
end $$;
`;

/**
 * A claim reads the events of its queues in a statement of its own, after the statement that locks the queues. A single statement would read the events as
 * they were when it began, and so claim events that another node had delivered before the queues were locked.
 */
export const CLAIM_LOCKED_QUEUES = `
create or replace function {schema}.claim_events(
  p_owner text, p_claim text, p_at bigint, p_lease bigint, p_queues integer, p_events integer
) returns table (queue bigint, attempts integer, id text, data text) language plpgsql as $$
declare until bigint := {schema}.clock_ms(p_at) + p_lease;
begin
  with free as (
    select q.n from {schema}.outbox_queues q where q.owner = p_owner and q.due <= until - p_lease
    order by q.due, q.n limit p_queues for update skip locked
  )
  update {schema}.outbox_queues q set due = until, claim = p_claim, attempts = q.attempts + 1
    from free where q.n = free.n;
  return query
    select q.n, q.attempts, e.id, e.data from {schema}.outbox_queues q
      cross join lateral (select o.* from {schema}.outbox o where o.queue = q.n order by o.n limit p_events) e
      where q.owner = p_owner and q.due = until and q.claim = p_claim
      order by q.n, e.n;
  -- A node that died after the last delivery of a queue left the queue without events.
  delete from {schema}.outbox_queues q where q.owner = p_owner and q.due = until and q.claim = p_claim
    and not exists (select from {schema}.outbox o where o.queue = q.n);
end $$;
`;
