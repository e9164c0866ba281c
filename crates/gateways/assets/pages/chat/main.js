// The customer's chat.
import { beginPage } from '../core/page.js';
import { t } from '../core/words.js';
import { ChatPage } from './view.js';

beginPage({ View: ChatPage, title: () => t('chat_title'), signInSub: () => t('sign_in_sub_chat') });
