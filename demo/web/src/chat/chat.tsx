import type { Executors } from 'duologue/client';
import type { Message } from 'duologue/protocol';
import { type Mode, type TransientData, useDuologue } from 'duologue/react';
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useState } from 'react';
import { Header } from '../app/header.tsx';
import { useWhereabouts, WhereaboutsProvider } from '../approval/elsewhere.tsx';
import { ReachProvider, reachOf } from '../approval/reach.tsx';
import { useOpenQuestion } from '../approval/use-open-question.ts';
import { useWaitingSign } from '../approval/use-waiting-sign.ts';
import { CancelWarning } from '../composer/cancel-warning.tsx';
import { Composer } from '../composer/composer.tsx';
import type { Draft } from '../composer/draft.ts';
import { DropZone } from '../composer/drop-zone.tsx';
import { focusBox } from '../composer/focus-box.ts';
import { Queued } from '../composer/queued.tsx';
import { heldBy, useSendQueue } from '../composer/send-queue.ts';
import { draftOf, useUnsent } from '../composer/unsent.ts';
import type { WhileBusy } from '../composer/while-busy.ts';
import { ConnectionBanner } from '../connection/banner.tsx';
import { useIsCutOff } from '../connection/use-cut-off.ts';
import { ErrorCard } from '../errors/error-card.tsx';
import { useMessages } from '../i18n/language.tsx';
import { acceptsOf } from '../images/accepts.ts';
import { usePictures } from '../images/use-pictures.ts';
import { AnsweringProvider } from '../questions/answering.tsx';
import type { CurrentSession } from '../sessions/current-session.ts';
import { Missing } from '../sessions/missing.tsx';
import type { Sessions } from '../sessions/use-sessions.ts';
import { useWire, useWireChat, useWireOptions } from '../wire/wire.tsx';
import { Conversation } from './conversation.tsx';
import { Empty } from './empty.tsx';
import { useActions } from './use-actions.ts';
import { useCutOffAnswer } from './use-cut-off-answer.ts';
import { useLookedAt } from './use-looked-at.ts';
import { useNotices } from './use-notices.ts';
import { useTitle } from './use-title.ts';
import { useOnNewText, useWaiting } from './use-waiting.ts';

const ReplayBar = lazy(() => import('../replay/replay-bar.tsx'));
/** If the voice bar cannot be loaded, nothing is shown in its place. */
const VoiceDock = lazy<typeof import('../voice/voice-dock.tsx').default>(() =>
  import('../voice/voice-dock.tsx').catch(() => ({ default: () => null as never })),
);

/** One conversation: header, messages and message box. */
export function Chat({
  current,
  sessions,
  mode: wantedMode,
  whileBusy,
  executors,
  isCovered,
  onMode,
  onSpeech,
  onSessions,
  tools,
}: {
  current: CurrentSession;
  sessions: Sessions;
  mode: Mode;
  whileBusy: WhileBusy;
  /** The browser tools of this page. */
  executors: Executors;
  /** Whether a panel or dialog covers the conversation. */
  isCovered: boolean;
  onMode: (mode: Mode) => void;
  /** Called when the user or the agent starts or stops speaking. */
  onSpeech: (isSpeech: boolean) => void;
  onSessions: () => void;
  /** Further controls for the header. */
  tools: ReactNode;
}) {
  const words = useMessages();
  // A conversation that was created on this page has no stored messages to load.
  const [wasOpened] = useState(!current.isNew);
  const notices = useNotices();
  const waiting = useWaiting();
  const whereabouts = useWhereabouts();
  const { replay } = useWire();
  const { hear: note } = notices;
  const { hear: wait } = waiting;
  const { hear: place } = whereabouts;
  const hear = useCallback(
    (data: TransientData) => {
      note(data);
      wait(data);
      // A replay has no clicks, so every decision would seem to be made on another page.
      if (!replay) place(data);
    },
    [note, wait, place, replay],
  );
  const options = useWireOptions({
    url: '',
    mode: wantedMode,
    sessionId: current.id,
    tools: executors,
    onData: hear,
    onError: notices.settle,
    onFinish: () => void sessions.refresh(),
    ...(current.isNew ? { messages: [] } : {}),
  });
  const duologue = useDuologue(options);
  useWireChat(duologue);
  const { messages, status, connection, approvals, questions, session, error, clearError, active } = duologue;
  const isBusy = status === 'submitted' || status === 'streaming';
  useOnNewText(messages, isBusy, waiting.clear);
  // A replay has no connection, but its recording contains every decision and outcome, so cards are shown as with a
  // live connection.
  const reach = replay ? 'live' : reachOf(duologue.mode, connection.status, error);
  const isCutOff = useIsCutOff(duologue.mode === 'sse' && isBusy && !replay);
  const shownConnection =
    isCutOff && connection.status === 'idle'
      ? ({ status: 'reconnecting', attempt: 0, retryAt: 0 } as const)
      : connection;
  const lost = useCutOffAnswer(messages, isBusy || error !== undefined);
  const [isRestored, setRestored] = useState(false);
  const after = lost.error ? 'cut' : isRestored ? 'unsent' : null;
  const held = heldBy({ status, connection: shownConnection, session }, useOpenQuestion(duologue), after);
  const actions = useActions(duologue, notices.settle);
  const stored = replay ? null : current.id;
  const waitingDrafts = useSendQueue(stored, held, actions.send);
  const { queue, add, insist, restore } = waitingDrafts;
  const comeBack = useCallback(
    (drafts: readonly Draft[]) => {
      restore(drafts);
      setRestored(true);
    },
    [restore],
  );
  const { markFailed } = actions;
  // The server sends such an error inside a message. Errors of requests have a code, and errors of the network are of
  // the class TypeError.
  const hasModelFailed = error !== undefined && !('code' in error) && !(error instanceof TypeError);
  useEffect(() => {
    if (hasModelFailed && !replay) markFailed();
  }, [hasModelFailed, markFailed, replay]);
  const unsent = useUnsent(stored, { messages, error, isLoaded: session.status === 'ready' }, comeBack);
  // While a call or a question waits for the user, messages are queued, because an interruption would end the call.
  const isAsked = approvals.length + questions.length > 0;
  const canInterrupt = isBusy && held === 'answer' && !isAsked;
  const pictures = usePictures(acceptsOf(duologue.live.connection.info));
  const [slot, setSlot] = useState<HTMLElement | null>(null);
  const isLookedAt = useLookedAt();
  const title = useTitle(current, sessions, messages, session.hasOlder, useWaitingSign(approvals, questions));
  const { refresh } = sessions;
  const hasFailed = error !== undefined;
  // The list shows what waits for the user, and what failed.
  // biome-ignore lint/correctness/useExhaustiveDependencies: these changes are what it waits for
  useEffect(() => void refresh(), [refresh, isAsked, hasFailed]);
  const { keep } = current;
  useEffect(() => {
    if (messages.length + queue.length > 0 && !replay) keep();
  }, [keep, messages.length, queue.length, replay]);

  const loadError = session.status === 'failed' ? session.error : null;
  /** Removes the error, so that queued messages are sent. The failed message keeps its note that it has no answer. */
  const dismissError = () => {
    clearError();
    if (lost.error) lost.forget();
    setRestored(false);
  };
  const isFailure = held === 'error' || held === 'cut' || held === 'unsent';
  const sendNow = (id: string) => {
    insist(id);
    if (isFailure) dismissError();
    else actions.stop();
  };
  const askAgain = (message: Message, isLast: boolean) => {
    if (isLast) return actions.retry();
    if (unsent.has(message.id)) actions.drop(message.id);
    unsent.forget(message.id);
    dismissError();
    add({ ...draftOf(message), id: crypto.randomUUID() });
  };
  const write = (draft: Draft, isNow = false) => {
    dismissError();
    add(draft);
    if (isNow && canInterrupt) sendNow(draft.id);
  };
  const suggest = (text: string) => {
    write({ id: crypto.randomUUID(), text, pictures: [] });
    focusBox();
  };
  const isMissing = wasOpened && queue.length === 0 && !replay;
  const empty = isMissing ? <Missing onNew={current.startNew} /> : <Empty onSuggest={suggest} />;
  return (
    <DropZone onFiles={pictures.add} isCovered={isCovered} most={pictures.accepts.files}>
      <Header
        title={title}
        mode={duologue.mode}
        wantedMode={wantedMode}
        connection={shownConnection}
        onMode={onMode}
        onSessions={onSessions}
      >
        {tools}
      </Header>
      <ReachProvider reach={reach}>
        <WhereaboutsProvider value={whereabouts}>
          <AnsweringProvider value={actions.questions}>
            <Conversation
              messages={messages}
              onEarlier={session.hasOlder && !replay ? session.loadOlder : null}
              isBusy={isBusy}
              hasError={error !== undefined || lost.error !== null}
              onDecide={actions.decide}
              onContinue={replay ? null : actions.continueAnswer}
              onRegenerate={actions.regenerate}
              onEdit={actions.edit}
              isUnsent={unsent.has}
              onAskAgain={askAgain}
              empty={session.status === 'ready' ? empty : null}
            >
              {session.status === 'loading' ? (
                <p role="status" className="animate-pulse text-sm text-soft">
                  {words.sessions.loading}
                </p>
              ) : null}
              {waiting.reason ? (
                <p role="status" data-testid="waiting" className="animate-fade text-sm text-soft">
                  {words.message.waiting[waiting.reason]}
                </p>
              ) : null}
              {loadError ? (
                <ErrorCard
                  error={loadError}
                  about="conversation"
                  onRetry={() => void session.reload()}
                  onDismiss={current.startNew}
                />
              ) : null}
              {lost.error ? (
                <ErrorCard error={lost.error} onRetry={actions.retry} onDismiss={lost.forget} />
              ) : null}
              {error ? (
                <ErrorCard key={error.message} error={error} onRetry={actions.retry} onDismiss={clearError} />
              ) : null}
              {notices.list.map(({ id, error: notice }) => (
                <ErrorCard key={id} error={notice} onRetry={null} onDismiss={() => notices.dismiss(id)} />
              ))}
            </Conversation>
          </AnsweringProvider>
        </WhereaboutsProvider>
      </ReachProvider>
      <div className="mx-auto w-full max-w-3xl shrink-0 px-3 print:hidden pb-[max(0.75rem,env(safe-area-inset-bottom))] sm:px-6">
        <ConnectionBanner
          connection={shownConnection}
          isAnswering={messages.at(-1)?.role === 'assistant' && isBusy}
          onReconnect={shownConnection === connection ? () => void duologue.reconnect() : null}
          onTake={active.isHere || active.isFree || replay ? null : active.claim}
        />
        <Queued queue={waitingDrafts} why={held} onSendNow={canInterrupt || isFailure ? sendNow : null}>
          {held === 'approval' ? <CancelWarning onSend={() => queue[0] && insist(queue[0].id)} /> : null}
        </Queued>
        {replay ? (
          <Suspense fallback={null}>
            <ReplayBar player={replay} />
          </Suspense>
        ) : (
          <>
            {isLookedAt ? (
              <Suspense fallback={null}>
                <VoiceDock duologue={duologue} slot={slot} onMode={onMode} onSpeech={onSpeech} />
              </Suspense>
            ) : null}
            <Composer
              sessionId={current.isNew ? null : current.id}
              isBusy={isBusy}
              canInterrupt={canInterrupt}
              whileBusy={whileBusy}
              pictures={pictures}
              slot={setSlot}
              onSend={write}
              onStop={actions.stop}
            />
          </>
        )}
      </div>
    </DropZone>
  );
}
