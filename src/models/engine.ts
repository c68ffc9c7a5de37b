export { instrumentModels } from './instrument-models.ts';
