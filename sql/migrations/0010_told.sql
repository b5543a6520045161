-- compatible-from: 6
--
-- turn() has other parameters and answers texts: whoever calls it so must not start where it is not. The former one is left
-- where it is, for processes that began before this.
select 1;
