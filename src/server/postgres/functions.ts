/**
 * One function for each write of more than one statement, so that such a write is one round trip and one transaction, and a node that dies during a write
 * leaves no lock behind. A function that changes a session first locks the row of the session, so that only one transaction at a time changes it. A function
 * that changes shared state then locks the state of the user and that of the app, always in this order, so that no deadlock is possible. `p_at` is null when
 * the function must use the time of the database. `p_operation` is the same when a write is sent again because its answer was lost, so that the write has its
 * effect only once. Errors: DL001 another owner, DL002 no such session, DL003 the session exists, DL004 state was changed meanwhile.
 */
export const FUNCTIONS = `
create function {schema}.clock_ms(p_at bigint) returns bigint language sql volatile as $$
  select coalesce(p_at, (extract(epoch from clock_timestamp()) * 1000)::bigint)
$$;

create function {schema}.find(p_name text, p_fence bigint) returns bigint language plpgsql as $$
declare s record;
begin
  select n, fence into s from {schema}.sessions where name = p_name for no key update;
  if not found then return null; end if;
  if s.fence <> p_fence then raise exception 'stale fence' using errcode = 'DL001'; end if;
  return s.n;
end $$;

create function {schema}.need(p_name text, p_fence bigint) returns bigint language plpgsql as $$
declare s bigint := {schema}.find(p_name, p_fence);
begin
  if s is null then raise exception 'no such session' using errcode = 'DL002'; end if;
  return s;
end $$;

create function {schema}.touch(p_name text, p_fence bigint, p_at bigint) returns bigint language plpgsql as $$
declare s bigint;
begin
  update {schema}.sessions set updated_at = {schema}.clock_ms(p_at) where name = p_name and fence = p_fence returning n into s;
  if found then return s; end if;
  return {schema}.need(p_name, p_fence);
end $$;

create function {schema}.accept(p_session bigint, p_request text, p_message text, p_parts integer) returns void
language plpgsql as $$
declare last integer;
begin
  if p_request is null then return; end if;
  select coalesce(max(seq), 0) into last from {schema}.requests where session = p_session;
  delete from {schema}.requests
    where session = p_session and (request_id = p_request or seq <= last + 1 - 256);
  insert into {schema}.requests (session, seq, request_id, message_id, parts)
    values (p_session, last + 1, p_request, p_message, p_parts);
end $$;

create function {schema}.change_state(
  p_shared text[], p_scopes text[], p_keys text[], p_values text[], p_seen text[]
) returns void language plpgsql as $$
declare changed text;
begin
  if cardinality(p_keys) = 0 then return; end if;
  for i in 1 .. cardinality(p_shared) loop
    perform pg_advisory_xact_lock(hashtextextended(p_shared[i], 0));
  end loop;
  if p_seen is not null then
    select string_agg(d.key, ', ') into changed
      from unnest(p_scopes, p_keys, p_seen) as d (scope, key, seen)
      left join {schema}.state s on s.scope = d.scope and s.key = d.key
      where s.value is distinct from d.seen;
    if changed is not null then raise exception '%', changed using errcode = 'DL004'; end if;
  end if;
  delete from {schema}.state s using unnest(p_scopes, p_keys, p_values) as d (scope, key, value)
    where d.value is null and s.scope = d.scope and s.key = d.key;
  insert into {schema}.state (scope, key, value)
    select * from unnest(p_scopes, p_keys, p_values) as d (scope, key, value) where d.value is not null
    on conflict (scope, key) do update set value = excluded.value;
end $$;

create function {schema}.add_line(p_name text, p_at bigint, p_line json, p_operation uuid) returns void
language plpgsql as $$
begin
  insert into {schema}.audit_lines
    (name, session_id, user_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args, reason, operation)
    select p_name, l.session_id, l.user_id, {schema}.clock_ms(p_at), l.kind, l.approval_id, l.tool_call_id, l.tool_name, l.args_hash,
      case when exists (select from {schema}.sessions where name = p_name) then l.args end, l.reason, p_operation
    from json_populate_record(null::{schema}.audit_lines, p_line) l
    on conflict (operation) do nothing;
end $$;

create function {schema}.create_session(
  p_name text, p_owner text, p_app text, p_user text, p_id text, p_at bigint, p_operation uuid,
  p_shared text[], p_scopes text[], p_keys text[], p_values text[]
) returns void language plpgsql as $$
declare at bigint := {schema}.clock_ms(p_at);
begin
  insert into {schema}.sessions (name, owner, app, user_id, id, created_at, updated_at, operation)
    values (p_name, p_owner, p_app, p_user, p_id, at, at, p_operation) on conflict (name) do nothing;
  if not found then
    if exists (select from {schema}.sessions where name = p_name and operation = p_operation) then return; end if;
    raise exception 'the session exists' using errcode = 'DL003';
  end if;
  perform {schema}.change_state(p_shared, p_scopes, p_keys, p_values, null);
end $$;

create function {schema}.own(p_name text) returns bigint language plpgsql as $$
declare s bigint; f bigint;
begin
  -- Draw the fence only after the row is locked: otherwise a lower fence could overwrite a higher one.
  select n into s from {schema}.sessions where name = p_name for no key update;
  if not found then return null; end if;
  f := nextval('{schema}.fences');
  update {schema}.sessions set fence = f, node = null where n = s;
  return f;
end $$;

create function {schema}.delete_session(p_name text) returns boolean language plpgsql as $$
declare s bigint;
begin
  delete from {schema}.sessions where name = p_name returning n into s;
  if not found then return false; end if;
  delete from {schema}.state where scope = p_name;
  delete from {schema}.events where session = s;
  delete from {schema}.messages where session = s;
  delete from {schema}.waiting where session = s;
  delete from {schema}.calls where session = s;
  delete from {schema}.requests where session = s;
  delete from {schema}.files where session = s;
  update {schema}.audit_lines set args = null, reason = null where name = p_name;
  return true;
end $$;

create function {schema}.append_event(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text, p_data text, p_answered text[],
  p_shared text[], p_scopes text[], p_keys text[], p_values text[], p_seen text[],
  p_request text, p_message text, p_parts integer
) returns void language plpgsql as $$
declare s bigint := {schema}.touch(p_name, p_fence, p_at);
begin
  if exists (select from {schema}.events where session = s and id = p_id and operation = p_operation) then return; end if;
  perform {schema}.change_state(p_shared, p_scopes, p_keys, p_values, p_seen);
  insert into {schema}.events (session, seq, id, data, operation)
    values (s, (select coalesce(max(seq), 0) + 1 from {schema}.events where session = s), p_id, p_data, p_operation)
    on conflict (session, id) do update set data = excluded.data, operation = excluded.operation;
  if cardinality(p_answered) > 0 then
    update {schema}.calls set status = 'settled', operation = null where session = s and id = any (p_answered);
  end if;
  perform {schema}.accept(s, p_request, p_message, p_parts);
end $$;

create function {schema}.put_message(
  p_name text, p_fence bigint, p_at bigint, p_id text, p_data text, p_has_failed boolean, p_is_answer boolean,
  p_request text, p_message text, p_parts integer
) returns void language plpgsql as $$
declare s bigint := {schema}.touch(p_name, p_fence, p_at); place integer;
begin
  insert into {schema}.messages (session, seq, id, data, has_failed)
    values (s, (select coalesce(max(seq), 0) + 1 from {schema}.messages where session = s), p_id, p_data, p_has_failed)
    on conflict (session, id) do update set data = excluded.data, has_failed = excluded.has_failed
    returning seq into place;
  if p_is_answer then
    delete from {schema}.waiting w where w.session = s and exists (
      select from {schema}.messages m where m.session = s and m.id = w.id and m.seq < place
    );
  end if;
  perform {schema}.accept(s, p_request, p_message, p_parts);
end $$;

create function {schema}.truncate_messages(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text
) returns boolean language plpgsql as $$
declare s bigint := {schema}.find(p_name, p_fence); place integer;
begin
  if exists (select from {schema}.sessions where n = s and last_operation = p_operation) then return true; end if;
  select seq into place from {schema}.messages where session = s and id = p_id;
  if not found then return false; end if;
  delete from {schema}.messages where session = s and seq >= place;
  update {schema}.sessions set updated_at = {schema}.clock_ms(p_at), last_operation = p_operation where n = s;
  return true;
end $$;

create function {schema}.add_waiting(
  p_name text, p_fence bigint, p_at bigint, p_id text, p_data text, p_request text, p_message text, p_parts integer
) returns void language plpgsql as $$
declare s bigint := {schema}.touch(p_name, p_fence, p_at);
begin
  insert into {schema}.waiting (session, seq, id, data)
    values (s, (select coalesce(max(seq), 0) + 1 from {schema}.waiting where session = s), p_id, p_data)
    on conflict (session, id) do update set data = excluded.data;
  perform {schema}.accept(s, p_request, p_message, p_parts);
end $$;

create function {schema}.issue_calls(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_calls json, p_lines json
) returns void language plpgsql as $$
declare s bigint := {schema}.need(p_name, p_fence); c {schema}.calls; l json;
begin
  for c in select * from json_populate_recordset(null::{schema}.calls, p_calls) loop
    if exists (select from {schema}.calls where session = s and id = c.id and operation = p_operation) then return; end if;
    insert into {schema}.calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
        agent, invocation_id, branch, issued_at, expires_at)
      values (s, c.id, c.approval_id, c.tool_name, c.args, c.args_hash, c.runs_on, c.status, c.reason, c.message_id,
        c.agent, c.invocation_id, c.branch, c.issued_at, c.expires_at);
  end loop;
  -- Set only after the loop: two calls of p_calls with the same id must fail, and not be taken for a write that was sent again.
  update {schema}.calls set operation = p_operation where session = s and id in (select e ->> 'id' from json_array_elements(p_calls) e);
  for l in select * from json_array_elements(p_lines) loop
    perform {schema}.add_line(p_name, p_at, l, null);
  end loop;
end $$;

create function {schema}.move_call(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text, p_from text, p_to text,
  p_sets_reason boolean, p_reason text, p_sets_expiry boolean, p_expires_at bigint, p_line json,
  p_request text, p_message text, p_parts integer
) returns setof {schema}.calls language plpgsql as $$
declare s bigint; c {schema}.calls;
begin
  -- A decision has no fence, because the node that writes it need not be the owner.
  if p_fence is null then select n into s from {schema}.sessions where name = p_name for no key update;
  else s := {schema}.find(p_name, p_fence);
  end if;
  select * into c from {schema}.calls where session = s and id = p_id;
  if not found then return; end if;
  if c.operation = p_operation then return next c; return; end if;
  if c.status <> p_from then return; end if;
  update {schema}.calls set status = p_to, operation = p_operation,
      reason = case when p_sets_reason then p_reason else reason end,
      expires_at = case when p_sets_expiry then p_expires_at else expires_at end
    where n = c.n returning * into c;
  if p_line is not null then perform {schema}.add_line(p_name, p_at, p_line, null); end if;
  perform {schema}.accept(s, p_request, p_message, p_parts);
  return next c;
end $$;

create function {schema}.accept_request(
  p_name text, p_fence bigint, p_request text, p_message text, p_parts integer
) returns void language sql as $$
  select {schema}.accept({schema}.need(p_name, p_fence), p_request, p_message, p_parts)
$$;

create function {schema}.put_file(
  p_name text, p_fence bigint, p_id text, p_media_type text, p_bytes bytea
) returns void language sql as $$
  insert into {schema}.files (session, id, media_type, bytes)
    values ({schema}.need(p_name, p_fence), p_id, p_media_type, p_bytes)
    on conflict (session, id) do update set media_type = excluded.media_type, bytes = excluded.bytes
$$;

create function {schema}.renew_node(p_node text, p_address text, p_lease integer) returns boolean
language plpgsql as $$
declare was_living boolean := exists (select from {schema}.nodes where name = p_node and until > clock_timestamp());
begin
  -- A new node removes the rows of nodes that died more than an hour ago.
  if not was_living then delete from {schema}.nodes where until < clock_timestamp() - interval '1 hour'; end if;
  insert into {schema}.nodes (name, address, until)
    values (p_node, p_address, clock_timestamp() + p_lease * interval '1 millisecond')
    on conflict (name) do update set until = excluded.until, address = excluded.address;
  return was_living;
end $$;

create function {schema}.acquire(p_name text, p_node text, p_suspect bigint)
returns table (fence bigint, node text, address text) language plpgsql as $$
declare s record; o record; f bigint;
begin
  select sessions.n, sessions.fence, sessions.node into s
    from {schema}.sessions where sessions.name = p_name for no key update;
  if not found then return; end if;
  if s.node is distinct from p_node and s.fence is distinct from p_suspect then
    select nodes.name, nodes.address into o
      from {schema}.nodes where nodes.name = s.node and until > clock_timestamp();
    if found then return query select s.fence, o.name, o.address; return; end if;
  end if;
  f := nextval('{schema}.fences');
  update {schema}.sessions set fence = f, node = p_node where sessions.n = s.n;
  return query select f, p_node, null::text;
end $$;

create function {schema}.release(p_name text, p_fence bigint) returns void language sql as $$
  update {schema}.sessions set node = null where name = p_name and fence = p_fence
$$;

create function {schema}.leave_node(p_node text) returns void language plpgsql as $$
begin
  update {schema}.sessions set node = null where sessions.node = p_node;
  delete from {schema}.nodes where nodes.name = p_node;
end $$;
`;

/** Deleting a session also removes `refused` audit lines that name no tool: those answers belonged to no call. */
export const DELETE_REFUSED_LINES = `
create or replace function {schema}.delete_session(p_name text) returns boolean language plpgsql as $$
declare s bigint;
begin
  delete from {schema}.sessions where name = p_name returning n into s;
  if not found then return false; end if;
  delete from {schema}.state where scope = p_name;
  delete from {schema}.events where session = s;
  delete from {schema}.messages where session = s;
  delete from {schema}.waiting where session = s;
  delete from {schema}.calls where session = s;
  delete from {schema}.requests where session = s;
  delete from {schema}.files where session = s;
  delete from {schema}.audit_lines where name = p_name and kind = 'refused' and tool_name is null;
  update {schema}.audit_lines set args = null, reason = null where name = p_name;
  return true;
end $$;
`;

/**
 * Tables, columns and indexes for the server API: lists over all users, decisions and outputs that name a call without its session, decisions that an
 * application makes in the name of a person. Ids of clients and models may be long, so indexes have their hash.
 */
export const SERVER_API = `
create table {schema}.commands (
  id text collate "C" primary key, data text not null, at timestamptz not null default clock_timestamp()
);
create index on {schema}.sessions (hashtextextended(app, 0), updated_at desc, n);
create index on {schema}.calls (hashtextextended(id, 0));
create index on {schema}.calls (approval_id) where approval_id is not null;
alter table {schema}.audit_lines add column decided_by text;

create or replace function {schema}.add_line(p_name text, p_at bigint, p_line json, p_operation uuid) returns void
language plpgsql as $$
begin
  insert into {schema}.audit_lines
    (name, session_id, user_id, at, kind, approval_id, tool_call_id, tool_name, args_hash, args, reason, decided_by, operation)
    select p_name, l.session_id, l.user_id, {schema}.clock_ms(p_at), l.kind, l.approval_id, l.tool_call_id, l.tool_name, l.args_hash,
      case when exists (select from {schema}.sessions where name = p_name) then l.args end, l.reason, l.decided_by, p_operation
    from json_populate_record(null::{schema}.audit_lines, p_line) l
    on conflict (operation) do nothing;
end $$;
`;

/** Adds to calls the question to the user and the answer that the user sent. Nodes of the previous version continue to use the functions that they know. */
export const QUESTIONS = `
alter table {schema}.calls add column question text, add column answer text;

create or replace function {schema}.issue_calls(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_calls json, p_lines json
) returns void language plpgsql as $$
declare s bigint := {schema}.need(p_name, p_fence); c {schema}.calls; l json;
begin
  for c in select * from json_populate_recordset(null::{schema}.calls, p_calls) loop
    if exists (select from {schema}.calls where session = s and id = c.id and operation = p_operation) then return; end if;
    insert into {schema}.calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
        agent, invocation_id, branch, issued_at, expires_at, question, answer)
      values (s, c.id, c.approval_id, c.tool_name, c.args, c.args_hash, c.runs_on, c.status, c.reason, c.message_id,
        c.agent, c.invocation_id, c.branch, c.issued_at, c.expires_at, c.question, c.answer);
  end loop;
  -- Set only after the loop: two calls of p_calls with the same id must fail, and not be taken for a write that was sent again.
  update {schema}.calls set operation = p_operation where session = s and id in (select e ->> 'id' from json_array_elements(p_calls) e);
  for l in select * from json_array_elements(p_lines) loop
    perform {schema}.add_line(p_name, p_at, l, null);
  end loop;
end $$;

create function {schema}.move_call(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_id text, p_from text, p_to text,
  p_sets_reason boolean, p_reason text, p_sets_expiry boolean, p_expires_at bigint, p_line json,
  p_request text, p_message text, p_parts integer, p_answer text, p_approval text, p_question text
) returns setof {schema}.calls language plpgsql as $$
declare s bigint; c {schema}.calls;
begin
  -- A decision has no fence, because the node that writes it need not be the owner.
  if p_fence is null then select n into s from {schema}.sessions where name = p_name for no key update;
  else s := {schema}.find(p_name, p_fence);
  end if;
  select * into c from {schema}.calls where session = s and id = p_id;
  if not found then return; end if;
  if c.operation = p_operation then return next c; return; end if;
  if c.status <> p_from then return; end if;
  update {schema}.calls set status = p_to, operation = p_operation,
      reason = case when p_sets_reason then p_reason else reason end,
      expires_at = case when p_sets_expiry then p_expires_at else expires_at end,
      answer = coalesce(p_answer, answer),
      approval_id = coalesce(p_approval, approval_id),
      question = coalesce(p_question, question)
    where n = c.n returning * into c;
  if p_line is not null then perform {schema}.add_line(p_name, p_at, p_line, null); end if;
  perform {schema}.accept(s, p_request, p_message, p_parts);
  return next c;
end $$;
`;

/** Adds to calls their place among agents that are used as tools (`CallRecord.agents`). */
export const CALLS_OF_AGENTS = `
alter table {schema}.calls add column agents text;

create or replace function {schema}.issue_calls(
  p_name text, p_fence bigint, p_at bigint, p_operation uuid, p_calls json, p_lines json
) returns void language plpgsql as $$
declare s bigint := {schema}.need(p_name, p_fence); c {schema}.calls; l json;
begin
  for c in select * from json_populate_recordset(null::{schema}.calls, p_calls) loop
    if exists (select from {schema}.calls where session = s and id = c.id and operation = p_operation) then return; end if;
    insert into {schema}.calls (session, id, approval_id, tool_name, args, args_hash, runs_on, status, reason, message_id,
        agent, invocation_id, branch, issued_at, expires_at, question, answer, agents)
      values (s, c.id, c.approval_id, c.tool_name, c.args, c.args_hash, c.runs_on, c.status, c.reason, c.message_id,
        c.agent, c.invocation_id, c.branch, c.issued_at, c.expires_at, c.question, c.answer, c.agents);
  end loop;
  -- Set only after the loop: two calls of p_calls with the same id must fail, and not be taken for a write that was sent again.
  update {schema}.calls set operation = p_operation where session = s and id in (select e ->> 'id' from json_array_elements(p_calls) e);
  for l in select * from json_array_elements(p_lines) loop
    perform {schema}.add_line(p_name, p_at, l, null);
  end loop;
end $$;
`;

/**
 * Creates a session and makes a node its owner in one statement, so that the node need not read the session. The function also returns the state that the
 * session shares with others.
 */
export const CREATE_OWNED = `
create function {schema}.members(p_scope text) returns text language sql stable as $$
  select string_agg(to_json(key)::text || ':' || value, ',') from {schema}.state where scope = p_scope
$$;

create function {schema}.create_owned(
  p_name text, p_owner text, p_app_scope text, p_app text, p_user text, p_id text, p_at bigint, p_operation uuid, p_node text
) returns table (fence bigint, at bigint, "user" text, app text) language plpgsql as $$
declare s record;
begin
  perform {schema}.create_session(p_name, p_owner, p_app, p_user, p_id, p_at, p_operation, '{}', '{}', '{}', '{}');
  select sessions.fence, sessions.node, sessions.created_at into s
    from {schema}.sessions where sessions.name = p_name for no key update;
  -- If the statement is sent again, the session exists already, and another node may have acquired it meanwhile.
  if s.fence = 0 then
    s.fence := nextval('{schema}.fences');
    update {schema}.sessions set fence = s.fence, node = p_node where sessions.name = p_name;
  elsif s.node is distinct from p_node then
    raise exception 'the session exists' using errcode = 'DL003';
  end if;
  return query select s.fence, s.created_at, {schema}.members(p_owner), {schema}.members(p_app_scope);
end $$;
`;
