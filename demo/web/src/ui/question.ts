/** A question before something that cannot be undone. */
export interface Question {
  title: string;
  text: string;
  action: string;
  isOpen: boolean;
  /** What gets the focus back, when that is not what has it: a menu that led here is gone by then. */
  opener?: () => HTMLElement | null | undefined;
  onAnswer: (isConfirmed: boolean) => void;
}
