import { type ComponentProps, type ComponentType, lazy, Suspense } from 'react';
import { useMessages } from '../i18n/language.tsx';
import type Loaded from './answer.tsx';

type Props = ComponentProps<typeof Loaded>;

/** Loads the component for messages of the assistant with its cards. The first paint does not need it. */
export const loadAnswer = () => import('./answer.tsx');

const Content = lazy<ComponentType<Props>>(() => loadAnswer().catch(() => ({ default: Missing })));

/** A message of the assistant; empty while its component is being loaded. */
export function Answer(props: Props) {
  return (
    <Suspense fallback={null}>
      <Content {...props} />
    </Suspense>
  );
}

/** Shown in place of a message whose component could not be loaded. */
function Missing() {
  const { panel } = useMessages();
  return (
    <p role="alert" className="text-sm">
      {panel.missing}
    </p>
  );
}
