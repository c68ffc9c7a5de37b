import {
  Ban,
  Check,
  CircleHelp,
  Clock,
  type LucideIcon,
  OctagonX,
  ShieldCheck,
  ShieldQuestion,
  Undo2,
} from 'lucide-react';
import type { Messages } from '../i18n/en.ts';
import type { CardState } from './card-state.ts';

interface Look {
  icon: LucideIcon;
  /** Classes for the border and the background of the card. */
  frame: string;
  /** The class for the colour of the icon and the title. */
  mark: string;
  title: (messages: Messages['approval']) => string;
  text: ((messages: Messages['approval']) => string) | null;
}

/** The icon, colours and texts of each state. No two states differ only in colour. */
export const LOOKS: Readonly<Record<CardState, Look>> = {
  requested: {
    icon: ShieldQuestion,
    frame: 'border-warn-line bg-warn-tint shadow-lift',
    mark: 'text-warn',
    title: (messages) => messages.needed,
    text: null,
  },
  processing: {
    icon: ShieldCheck,
    frame: 'border-info-line bg-info-tint',
    mark: 'text-info',
    title: (messages) => messages.processing,
    text: (messages) => messages.processingText,
  },
  denying: {
    icon: Ban,
    frame: 'border-line-strong bg-surface',
    mark: 'text-soft',
    title: (messages) => messages.denying,
    text: (messages) => messages.denyingText,
  },
  approved: {
    icon: ShieldCheck,
    frame: 'border-line bg-surface',
    mark: 'text-good',
    title: (messages) => messages.approved,
    text: (messages) => messages.doneBecauseApproved,
  },
  done: {
    icon: Check,
    frame: 'border-line bg-surface',
    mark: 'text-good',
    title: (messages) => messages.done,
    text: null,
  },
  denied: {
    icon: Ban,
    frame: 'border-line bg-surface',
    mark: 'text-bad',
    title: (messages) => messages.denied,
    text: (messages) => messages.deniedText,
  },
  expired: {
    icon: Clock,
    frame: 'border-dashed border-line-strong bg-surface',
    mark: 'text-soft',
    title: (messages) => messages.expired,
    text: (messages) => messages.expiredText,
  },
  cancelled: {
    icon: Undo2,
    frame: 'border-dashed border-line-strong bg-surface',
    mark: 'text-soft',
    title: (messages) => messages.cancelled,
    text: (messages) => messages.cancelledText,
  },
  failed: {
    icon: OctagonX,
    frame: 'border-bad-line bg-bad-tint',
    mark: 'text-bad',
    title: (messages) => messages.failed,
    text: null,
  },
  unknown: {
    icon: CircleHelp,
    frame: 'border-odd-line bg-odd-tint',
    mark: 'text-odd',
    title: (messages) => messages.unknown,
    text: (messages) => messages.unknownText,
  },
};
