/**
 * The tools of the demo, in the order in which the agent gets them and the page suggests them. Each name is that of a
 * folder beside this file, which holds everything about the tool. To add a tool, write its folder and add its name here.
 */
export const TOOLS = ['payment', 'weather', 'music', 'location'];
